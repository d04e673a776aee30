#include "rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "eplb/config/group.hpp"
#include "eplb/core/option_rules.hpp"
#include "eplb/core/shape.hpp"
#include "model_rules.hpp"
#include "rule.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kExperts = "model.logical_experts";
constexpr std::string_view kRanks = "parallel.ranks";
constexpr std::string_view kRanksPerNode = "parallel.ranks_per_node";
constexpr std::string_view kEnabled = "eplb.enabled";
constexpr std::string_view kRedundancy = "eplb.num_redundant_experts";
constexpr std::string_view kWindowSize = "eplb.window_size";
constexpr std::string_view kWindowParts = "eplb.window_parts";
constexpr std::string_view kHistoryParts = "eplb.history_parts";

/// What a scenario may take of memory in a single kind of table.
constexpr double kBytesMax = 8e9;

std::string redundancy_advice(const Shape& shape, bool eplb_enabled) {
  if (!eplb_enabled) {
    return "; without EPLB the ranks must divide the experts";
  }
  const std::int32_t nearest_legal = nearest_legal_redundancy(shape);
  if (nearest_legal > kMaxRedundantSlots) {
    return "; no legal redundancy does";
  }
  return "; the nearest legal redundancy is " + std::to_string(nearest_legal);
}

void check_parallel(const sim::Scenario& scenario, Reading& reading) {
  const ParallelOptions& parallel = scenario.parallel;
  if (!reading.sound({kRanks, kEnabled})) {
    return;
  }
  const Shape shape = shape_of(scenario.model, parallel, scenario.eplb);
  joint_rule(shape.slot_count() % parallel.ranks != 0, {kRedundancy, kExperts, kRanks},
             std::to_string(shape.expert_count) + " experts + " +
                 std::to_string(shape.redundant_slot_count) + " redundant do not divide over " +
                 std::to_string(parallel.ranks) + " ranks" +
                 redundancy_advice(shape, scenario.eplb.enabled),
             reading);
  rule(parallel.ranks_per_node > scenario.hardware.gpus_per_node,
       {kRanksPerNode, "hardware.gpus_per_node"},
       at_most("hardware.gpus_per_node", scenario.hardware.gpus_per_node, parallel.ranks_per_node),
       reading);
}

/// The core's rules, which it has for users without a configuration too.
void check_group(const sim::Scenario& scenario, Reading& reading) {
  if (!reading.sound({kEnabled})) {
    return;
  }
  for (const OptionProblem& problem : option_problems(scenario.eplb, group_of(scenario))) {
    rule(true, views(problem.keys), problem.message, reading);
  }
}

void check_scale(const sim::Scenario& scenario, Reading& reading) {
  for (std::size_t index = 0; index < scenario.parallel.scale.size(); ++index) {
    const std::string key = "parallel.scale[" + std::to_string(index) + "].at_step";
    const std::int64_t at_step = scenario.parallel.scale[index].at_step;
    rule(at_step >= scenario.run.steps, {key, "run.steps"},
         "must be below run.steps (" + std::to_string(scenario.run.steps) + "), got " +
             std::to_string(at_step),
         reading);
  }
}

template <typename Fault>
void check_fault_ranks(std::string_view list, const std::vector<Fault>& faults,
                       const ParallelOptions& parallel, Reading& reading) {
  std::int32_t ranks = parallel.ranks;
  for (const ScaleEvent& event : parallel.scale) {
    ranks = std::max(ranks, event.ranks);
  }
  for (std::size_t index = 0; index < faults.size(); ++index) {
    const std::string key = "faults." + std::string(list) + "[" + std::to_string(index) + "].rank";
    rule(faults[index].rank >= ranks, {key, kRanks},
         "must be below the number of ranks (" + std::to_string(ranks) + "), got " +
             std::to_string(faults[index].rank),
         reading);
  }
}

void check_faults(const sim::Scenario& scenario, Reading& reading) {
  const sim::FaultOptions& faults = scenario.faults;
  const ParallelOptions& parallel = scenario.parallel;
  check_fault_ranks("failed_links", faults.failed_links, parallel, reading);
  check_fault_ranks("slow_ports", faults.slow_ports, parallel, reading);
  check_fault_ranks("stragglers", faults.stragglers, parallel, reading);
  check_fault_ranks("host_stalls", faults.host_stalls, parallel, reading);
  check_fault_ranks("lost_ranks", faults.lost_ranks, parallel, reading);
  for (std::size_t index = 0; index < faults.failed_links.size(); ++index) {
    const std::string key = "faults.failed_links[" + std::to_string(index) + "].links";
    const std::int32_t links = scenario.hardware.nvlink_links;
    rule(faults.failed_links[index].links >= links, {key, "hardware.nvlink_links"},
         "must be below hardware.nvlink_links (" + std::to_string(links) + "), got " +
             std::to_string(faults.failed_links[index].links),
         reading);
  }
}

/// The run without EPLB must be possible too.
void check_comparison(const sim::Scenario& scenario, Reading& reading) {
  constexpr std::string_view kCompareOff = "run.compare_off";
  const ParallelOptions& parallel = scenario.parallel;
  if (!scenario.run.compare_off || !reading.sound({kRanks})) {
    return;
  }
  rule(is_elastic(parallel), {kCompareOff, "parallel.scale"},
       "an elastic group needs EPLB, so it cannot run without; set run.compare_off to false",
       reading);
  rule(scenario.model.logical_experts % parallel.ranks != 0, {kCompareOff, kExperts, kRanks},
       std::to_string(scenario.model.logical_experts) + " experts do not divide over " +
           std::to_string(parallel.ranks) + " ranks without EPLB; set run.compare_off to false",
       reading);
}

void check_serving(const sim::Scenario& scenario, Reading& reading) {
  const sim::ServingOptions& serving = scenario.serving;
  rule(serving.accepted_tokens > serving.tokens_per_request,
       {"serving.accepted_tokens", "serving.tokens_per_request"},
       "must be at most tokens_per_request (" + std::to_string(serving.tokens_per_request) +
           "), got " + number_text(serving.accepted_tokens),
       reading);
}

void check_run(const sim::RunOptions& run, Reading& reading) {
  rule(run.warmup_steps >= run.steps, {"run.warmup_steps", "run.steps"},
       "must be below run.steps (" + std::to_string(run.steps) + "), got " +
           std::to_string(run.warmup_steps),
       reading);
}

void check_drift(const sim::WorkloadOptions& workload, Reading& reading) {
  if (const auto* burst = std::get_if<sim::BurstDrift>(&workload.drift)) {
    rule(burst->duration_steps > burst->every_steps,
         {"workload.drift.duration_steps", "workload.drift.every_steps"},
         at_most("every_steps", burst->every_steps, burst->duration_steps), reading);
  }
}

void check_window(const EplbOptions& eplb, Reading& reading) {
  rule(eplb.window_parts > eplb.window_size, {kWindowParts, kWindowSize},
       at_most("window_size", eplb.window_size, eplb.window_parts), reading);
  rule(eplb.window_parts > eplb.history_parts, {kWindowParts, kHistoryParts},
       at_most("history_parts", eplb.history_parts, eplb.window_parts), reading);
}

std::string gigabytes(double bytes) {
  return number_text(std::round(bytes / 1e8) / 10) + " GB";
}

/// Redundant slots at the group's largest, as far as its counts are right.
std::int32_t redundancy_max(const sim::Scenario& scenario) {
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  std::int64_t redundant = shape.redundant_slot_count;
  if (shape.rank_count > 0) {
    for (const ScaleEvent& event : scenario.parallel.scale) {
      const std::int64_t slots = std::int64_t{shape.slots_per_rank()} * event.ranks;
      redundant = std::max(redundant, slots - shape.expert_count);
    }
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(redundant, kMaxRedundantSlots));
}

/// Refuses what would exhaust memory: the window's ring and the parts shown to a policy (core), and
/// the layer maps, whose width grows with the redundancy.
void check_memory(const sim::Scenario& scenario, Reading& reading) {
  if (!reading.sound({kEnabled})) {
    return;
  }
  double layers = scenario.model.moe_layers;
  for (const ModelOptions& draft : scenario.drafts) {
    layers += draft.moe_layers;
  }
  const double cells = layers * scenario.model.logical_experts;
  const double window_bytes =
      cells * (4.0 * scenario.eplb.window_size + 8.0 * scenario.eplb.history_parts);
  const double map_bytes = cells * 4.0 * (redundancy_max(scenario) + 2);
  joint_rule(scenario.eplb.enabled && window_bytes > kBytesMax,
             {kWindowSize, kHistoryParts, kExperts, "model.moe_layers"},
             "the load window would take " + gigabytes(window_bytes) + ", at most " +
                 gigabytes(kBytesMax) + " is allowed; use a smaller window_size or history_parts",
             reading);
  joint_rule(map_bytes > kBytesMax, {kRedundancy, kExperts, "model.moe_layers", "parallel.scale"},
             "the layer maps would take " + gigabytes(map_bytes) + ", at most " +
                 gigabytes(kBytesMax) + " is allowed; use fewer redundant experts",
             reading);
}

void add_notes(const sim::Scenario& scenario, Reading& reading) {
  const EplbOptions& eplb = scenario.eplb;
  if (!eplb.enabled && eplb.num_redundant_experts > 0) {
    reading.note("eplb.enabled is false, so eplb.num_redundant_experts counts as 0");
  }
  const ParallelOptions& parallel = scenario.parallel;
  const bool ragged = parallel.ranks % parallel.ranks_per_node != 0;
  if (eplb.enabled && scenario.model.expert_groups > 1 && ragged) {
    reading.note(
        "parallel.ranks_per_node does not divide parallel.ranks, so a hierarchical policy "
        "places the groups of the model as if all ranks shared one node");
  }
}

}  // namespace

void check_rules(const sim::Scenario& scenario, Reading& reading) {
  check_models(scenario, reading);
  check_parallel(scenario, reading);
  check_group(scenario, reading);
  check_scale(scenario, reading);
  check_faults(scenario, reading);
  check_comparison(scenario, reading);
  check_serving(scenario, reading);
  check_run(scenario.run, reading);
  check_drift(scenario.workload, reading);
  check_window(scenario.eplb, reading);
  check_memory(scenario, reading);
  if (reading.clean()) {
    add_notes(scenario, reading);
  }
}

}  // namespace eplb::config
