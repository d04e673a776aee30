#include "balancer_settings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "eplb/core/digest.hpp"
#include "eplb/core/option_rules.hpp"

namespace eplb {
namespace {

/// What a policy may weigh, and the trigger after it.
void add_costs(const PolicyCosts& costs, Digest& digest) {
  const ExpertLayerCost& layer = costs.layer;
  const MigrationCost& migration = costs.migration;
  for (const double value :
       {layer.start_ns, layer.ns_per_touched_expert, layer.ns_per_padded_row,
        layer.ns_per_dispatched_row, layer.ns_per_combined_row, layer.ns_per_assignment,
        costs.move_ns_per_expert, migration.wire_ns_per_byte, migration.commit_ns_per_byte,
        migration.commit_start_ns}) {
    digest.add(std::bit_cast<std::int64_t>(value));
  }
}

/// What the trigger's decisions depend on besides.
void add_trigger(const TriggerOptions& trigger, const TriggerMemory& memory, Digest& digest) {
  digest.add(trigger.horizon_steps.value_or(0));
  digest.add(trigger.cool_down);
  digest.add(std::bit_cast<std::int64_t>(trigger.price));
  digest.add(std::bit_cast<std::int64_t>(trigger.hysteresis));
  digest.add(memory.last_moves);
}

/// Whether any load makes the layer longer.
bool is_priced(const ExpertLayerCost& cost) {
  return cost.ns_per_touched_expert > 0 || cost.ns_per_padded_row > 0 ||
         cost.ns_per_dispatched_row > 0 || cost.ns_per_combined_row > 0 ||
         cost.ns_per_assignment > 0;
}

}  // namespace

Result<void> check(const Balancer::Settings& settings) {
  const Shape& shape = settings.shape;
  if (auto valid = validate(shape); !valid) {
    return valid;
  }
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (settings.topology.rank_count() != shape.rank_count) {
    return invalid("the topology is of another number of ranks than the shape");
  }
  if (settings.row_bytes.size() != static_cast<std::size_t>(shape.layer_count)) {
    return invalid("row bytes must have an entry for each layer");
  }
  if (settings.options.history_parts < settings.options.window_parts) {
    return invalid("history parts must not be fewer than window parts");
  }
  if (settings.options.trigger.has_value() && !is_priced(settings.costs.layer)) {
    return invalid("a trigger needs the costs of an expert layer, to tell what a placement gains");
  }
  if (shape.rank_count == 1) {
    return {};  // A group that has shrunk: its options were looked at when it was more.
  }
  // The shape says how the group is spread now; the options are as it was started.
  EplbOptions options = settings.options;
  options.enabled = true;
  options.num_redundant_experts = shape.redundant_slot_count;
  EplbGroup group;
  group.model.moe_layers = shape.layer_count;
  group.model.logical_experts = shape.expert_count;
  group.model.expert_groups = shape.expert_group_count;
  group.parallel.ranks = shape.rank_count;
  group.domain_count = settings.topology.domain_count();
  return validate(options, group);
}

std::int32_t landing_rows_of(const Balancer::Settings& settings) {
  return settings.options.landing_rows.value_or(default_landing_rows(settings.shape));
}

double window_steps(const EplbOptions& options, const TriggerMemory& memory) {
  double steps = 0;
  for (std::int32_t age = 0; age < memory.recorded_steps; ++age) {
    steps += options.window_half_life_steps.has_value()
                 ? std::exp2(-age / *options.window_half_life_steps)
                 : 1;
  }
  return std::max(steps, 1.0);
}

std::optional<TriggerProblem> trigger_problem(const Balancer::Settings& settings,
                                              const TriggerMemory& memory,
                                              std::int64_t rearrangement) {
  const EplbOptions& options = settings.options;
  if (!options.trigger.has_value()) {
    return std::nullopt;
  }
  std::vector<std::int64_t> since_moves;
  since_moves.reserve(memory.last_moves.size());
  for (const std::int64_t move : memory.last_moves) {
    since_moves.push_back(move > 0 ? rearrangement - move : 0);
  }
  return TriggerProblem{
      .options = *options.trigger,
      .horizon_steps = options.trigger->horizon_steps.value_or(options.step_interval),
      .row_bytes = settings.row_bytes,
      .rearrangements_since_move = std::move(since_moves)};
}

std::uint64_t digest_of(const Balancer::Settings& settings, const Balancer::Snapshot& start) {
  const EplbOptions& options = settings.options;
  const Shape& shape = settings.shape;
  Digest digest;
  for (const std::int64_t value :
       {std::int64_t{shape.layer_count},
        std::int64_t{shape.expert_count},
        std::int64_t{shape.redundant_slot_count},
        std::int64_t{shape.rank_count},
        std::int64_t{shape.expert_group_count},
        std::int64_t{options.window_parts},
        std::int64_t{options.history_parts},
        std::int64_t{options.step_interval},
        std::int64_t{options.window_size},
        std::int64_t{options.log_balancedness ? options.log_balancedness_interval : 0},
        std::int64_t{options.migration_batching_enabled ? 1 : 0},
        std::int64_t{options.use_async ? 1 : 0},
        std::int64_t{landing_rows_of(settings)},
        std::int64_t{options.commit_lead_steps},
        std::int64_t{options.layers_in_flight.value_or(0)},
        options.max_commit_bytes_per_step.value_or(0),
        static_cast<std::int64_t>(options.handshake),
        static_cast<std::int64_t>(options.on_failure),
        static_cast<std::int64_t>(options.replica_choice),
        start.step,
        start.cadence,
        start.rearrangement}) {
    digest.add(value);
  }
  for (const char letter : options.policy) {
    digest.add(letter);
  }
  for (const std::int64_t bytes : settings.row_bytes) {
    digest.add(bytes);
  }
  add_costs(settings.costs, digest);
  digest.add(start.trigger_memory.recorded_steps);
  if (options.trigger.has_value()) {
    add_trigger(*options.trigger, start.trigger_memory, digest);
  }
  for (const LayerPlacement& layer : start.placement.layers()) {
    for (const LogicalExpertId expert : layer.occupants()) {
      digest.add(expert.value);
    }
  }
  return digest.value();
}

}  // namespace eplb
