#include "stage.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "eplb/core/communicator.hpp"
#include "eplb/sim/cluster/host_collectives.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/policy_costs.hpp"
#include "fault_times.hpp"
#include "forward_load.hpp"
#include "step_work.hpp"

namespace eplb::sim {
namespace {

env::TransportTraits traits_of(Communicator communicator) {
  switch (communicator) {
    case Communicator::kAuto:
    case Communicator::kSymmMem:
      return {.side = env::TransferSide::kSender};
    case Communicator::kNixl:
      return {.side = env::TransferSide::kReceiver};
    case Communicator::kTorchNccl:
    case Communicator::kPynccl:
      return {.side = env::TransferSide::kBoth, .uses_sms = true};
    case Communicator::kTorchGloo:
      return {.side = env::TransferSide::kBoth, .host_staged = true};
  }
  return {};
}

Shape group_shape(const Scenario& scenario, const std::vector<Stage::Segment>& segments) {
  Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  shape.layer_count = 0;
  for (const Stage::Segment& segment : segments) {
    shape.layer_count += segment.span.layer_count;
  }
  return shape;
}

std::vector<std::int64_t> row_bytes_of(const Scenario& scenario,
                                       const std::vector<Stage::Segment>& segments) {
  const std::vector<ModelOptions> models = models_of(scenario);
  std::vector<std::int64_t> bytes;
  for (const Stage::Segment& segment : segments) {
    bytes.insert(bytes.end(), static_cast<std::size_t>(segment.span.layer_count),
                 bytes_per_expert(models[segment.model]));
  }
  return bytes;
}

}  // namespace

std::vector<ModelOptions> models_of(const Scenario& scenario) {
  std::vector<ModelOptions> models{scenario.model};
  models.insert(models.end(), scenario.drafts.begin(), scenario.drafts.end());
  return models;
}

std::vector<std::vector<Stage::Segment>> segments_of(const Scenario& scenario) {
  const std::int64_t stages = scenario.parallel.pipeline_stages;
  const std::int64_t layers = scenario.model.moe_layers;
  std::vector<std::vector<Stage::Segment>> segments(static_cast<std::size_t>(stages));
  std::int32_t last_layers = 0;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const auto begin = static_cast<std::int32_t>(stage * layers / stages);
    const auto end = static_cast<std::int32_t>((stage + 1) * layers / stages);
    last_layers = end - begin;
    segments[static_cast<std::size_t>(stage)].push_back(
        {.model = 0,
         .span = {.first_count_row = begin, .first_group_layer = 0, .layer_count = last_layers}});
  }
  for (std::size_t draft = 0; draft < scenario.drafts.size(); ++draft) {
    const std::int32_t count = scenario.drafts[draft].moe_layers;
    segments.back().push_back(
        {.model = draft + 1,
         .span = {.first_count_row = 0, .first_group_layer = last_layers, .layer_count = count}});
    last_layers += count;
  }
  return segments;
}

Stage::Stage(const World& world, const Scenario& scenario, std::vector<Segment> segments,
             const Topology& topology)
    : world_(world),
      scenario_(scenario),
      segments_(std::move(segments)),
      shape_(group_shape(scenario, segments_)),
      topology_(topology),
      row_bytes_(row_bytes_of(scenario, segments_)),
      carrier_(world.engine,
               {.hardware = scenario.hardware,
                .communicator = resolved_communicator(scenario, topology),
                .nixl_path = scenario.engine.nixl_path,
                .tensors_per_expert = tensors_per_expert(scenario.model.weight_format),
                .copy_streams = scenario.eplb.copy_streams,
                .batched_copies = scenario.eplb.batched_copies,
                .rate_limit_gb_per_s = scenario.eplb.copy_rate_limit_gb_per_s.value_or(0)},
               topology),
      timing_(world.engine, carrier_,
              {.hardware = scenario.hardware,
               .host_collectives = scenario.engine.host_collectives,
               .faults = scenario.faults,
               .boundary_idle_ms = scenario.serving.boundary_idle_ms,
               .learns_shares = scenario.eplb.replica_choice == ReplicaChoice::kShares},
              topology),
      port_faults_(world.engine, carrier_, scenario.hardware, scenario.faults),
      sink_(world.trace_sink, world.trace),
      group_({.engine = world.engine,
              .timing = timing_,
              .carrier = carrier_,
              .violations = world.violations,
              .trace_sink = sink_,
              .policy = world.policy,
              .serving = *this,
              .trace = world.trace},
             {.rank_count = shape_.rank_count,
              .traits = traits_of(resolved_communicator(scenario, topology)),
              .one_rank_counts = true},
             Placement::initial(shape_),
             [this](RankId /*rank*/) -> env::FaultPoints& { return no_faults_; }) {
  make_layers();
  const std::vector<LostRank>& lost = scenario.faults.lost_ranks;
  for (std::size_t index = 0; index < lost.size(); ++index) {
    world_.engine.schedule(ns_of_ms(lost[index].at_ms), Phase::kStart, *this,
                           static_cast<std::int64_t>(index));
  }
}

void Stage::make_layers() {
  const std::vector<ModelOptions> models = models_of(scenario_);
  ParallelOptions parallel = scenario_.parallel;
  parallel.ranks = shape_.rank_count;
  const auto rows = static_cast<std::int32_t>(mean_rows_per_rank(scenario_.serving));
  layers_.clear();
  for (const Segment& segment : segments_) {
    const ModelOptions& model = models[segment.model];
    layers_.emplace_back(ExpertLayers::Options{
        .shape = shape_,
        .topology = topology_,
        .cost = expert_layer_cost(model, scenario_.hardware, parallel),
        .nvlink = nvlink_cost(model, scenario_.hardware),
        .network = network_cost(model, scenario_.hardware),
        .top_k = model.top_k,
        .dealer = {.choice = scenario_.eplb.replica_choice,
                   .rows_per_rank = rows,
                   .rank_count = shape_.rank_count,
                   .noise = scenario_.workload.noise,
                   .seed = seed_of_model(scenario_.run.seed, segment.model)}});
  }
  tally_ = {.rank_loads = RankLoadMatrix::Zero(shape_.layer_count, shape_.rank_count),
            .slot_loads = LoadMatrix::Zero(shape_.layer_count, shape_.slot_count()),
            .least_max_loads =
                std::vector<std::int64_t>(static_cast<std::size_t>(shape_.layer_count), 0)};
}

Result<void> Stage::attach_balancers() {
  auto created = group_->create_balancers({.options = scenario_.eplb,
                                           .shape = shape_,
                                           .topology = topology_,
                                           .costs = policy_costs(scenario_, topology_),
                                           .row_bytes = row_bytes_});
  if (created) {
    group_->load_weights(Placement::initial(shape_), 0);
    watch_plans();
  }
  return created;
}

void Stage::watch_plans() {
  group_->rank(RankId{0}).planner().inspect(
      [this](const PlanRequest& /*request*/, SimPlanDesk::Answer& answer) {
        if (!answer) {
          world_.observer.plan_refused(answer.error());
        }
      });
}

// Requests are spread over ranks whatever their experts, so each counts its share.
CountedPicks Stage::counted_picks(const Segment& segment, std::int32_t layer,
                                  const std::vector<const LoadMatrix*>& counts,
                                  std::span<const std::int64_t> rows) const {
  const std::int32_t top_k =
      segment.model == 0 ? scenario_.model.top_k : scenario_.drafts[segment.model - 1].top_k;
  const auto logical = counts[segment.model]->row(segment.span.first_count_row + layer);
  const auto slots = tally_.slot_loads.row(segment.span.first_group_layer + layer);
  return {.picks = *std::ranges::max_element(rows) * top_k,
          .busiest_logical = logical.maxCoeff() / shape_.rank_count,
          .busiest_slot = slots.maxCoeff() / shape_.rank_count};
}

double Stage::balancer_ns(const std::vector<const LoadMatrix*>& counts,
                          std::span<const std::int64_t> rows) {
  if (balancer() == nullptr) {
    return 0;
  }
  const HardwareOptions& hardware = scenario_.hardware;
  const EngineOptions& engine = scenario_.engine;
  const bool recording = group_->rank(RankId{0}).recorder().gate();
  const bool picks_matter = recording && engine.replica_mapping == ReplicaMapping::kSeparate;
  double ns = hardware.step_kernel_us * 1e3;
  for (const Segment& segment : segments_) {
    for (std::int32_t layer = 0; layer < segment.span.layer_count; ++layer) {
      ns += mapping_ns(hardware, engine, recording,
                       picks_matter ? counted_picks(segment, layer, counts, rows) : CountedPicks{});
    }
  }
  if (engine.readiness_all_reduce && scenario_.eplb.use_async) {
    ns += reduction_ns(hardware, topology_, engine.host_collectives, 0);
  }
  return ns;
}

// All ranks commit alike, so that one of each domain tells.
std::vector<const SimMapPublisher*> Stage::maps_in_force() {
  std::vector<const SimMapPublisher*> maps;
  for (std::int32_t rank = 0; rank < topology_.rank_count(); ++rank) {
    if (topology_.domain_of(RankId{rank}).index() == maps.size()) {
      maps.push_back(&group_->rank(RankId{rank}).maps());
    }
  }
  return maps;
}

Stage::DeviceTime Stage::run_layers(const std::vector<const LoadMatrix*>& counts,
                                    std::span<const std::int64_t> rows) {
  std::int64_t duration_ns = 0;
  const std::vector<double> factors = wire_factors();
  tally_.weights_ns = 0;
  tally_.wire_ns = 0;
  tally_.network_rows = 0;
  const std::vector<const SimMapPublisher*> maps = maps_in_force();
  for (std::size_t index = 0; index < segments_.size(); ++index) {
    const Segment& segment = segments_[index];
    duration_ns += layers_[index].run(*counts[segment.model], segment.span, maps,
                                      {.by_rank = rows, .wire_factors = factors}, tally_);
  }
  const std::int64_t own_ns = std::llround(balancer_ns(counts, rows));
  if (balancer() != nullptr && group_->rank(RankId{0}).recorder().gate()) {
    LoadMatrix logical = LoadMatrix::Zero(shape_.layer_count, shape_.expert_count);
    for (const Segment& segment : segments_) {
      logical.middleRows(segment.span.first_group_layer, segment.span.layer_count) =
          counts[segment.model]->middleRows(segment.span.first_count_row, segment.span.layer_count);
    }
    group_->rank(RankId{0}).recorder().count(
        std::move(logical), scenario_.eplb.log_balancedness ? tally_.slot_loads : LoadMatrix{});
  }
  return {.layers_ns = duration_ns, .balancer_ns = own_ns};
}

std::int64_t Stage::bytes_of_layers() const {
  std::int64_t bytes = 0;
  for (const std::int64_t row : row_bytes_) {
    bytes += row;
  }
  return bytes;
}

std::int64_t Stage::widest_row_bytes() const {
  return row_bytes_.empty() ? 0 : *std::ranges::max_element(row_bytes_);
}

// Rows of a rank take the slower of its two ports; which of them a cost counts is not known here.
std::vector<double> Stage::wire_factors() const {
  if (!port_faults_.any()) {
    return {};
  }
  std::vector<double> factors;
  for (std::int32_t rank = 0; rank < shape_.rank_count; ++rank) {
    double share = port_faults_.nvlink_share(RankId{rank});
    if (topology_.domain_count() > 1) {
      share = std::min(share, port_faults_.network_share(RankId{rank}));
    }
    factors.push_back(1 / share);
  }
  return factors;
}

void Stage::begin_forward(const Forward& forward) {
  const ForwardWork work{.duration_ns = forward.layers_ns + forward.others_ns + forward.balancer_ns,
                         .weights_ns = tally_.weights_ns,
                         .wire_ns = tally_.wire_ns,
                         .others_ns = static_cast<double>(forward.others_ns)};
  forward_since_ns_ = world_.engine.now_ns();
  forward_ = forward;
  group_->begin_forward();
  FlowNetwork& network = carrier_.network();
  ForwardDemand demand =
      forward_demand(carrier_.cluster(), network.shares(), scenario_.hardware, work);
  reserved_ = network.hold(std::move(demand.reserved));
  network.start(std::move(demand.shared), static_cast<double>(work.duration_ns), 0, *this, 0);
}

void Stage::flow_ended(std::int64_t /*token*/) {
  carrier_.network().release(reserved_);
  group_->finish_forward();
}

void Stage::on_event(const Event& event) {
  constexpr std::int64_t kLookNs = 10'000;  // Between looks at a rank's state.
  const LostRank& lost = scenario_.faults.lost_ranks[static_cast<std::size_t>(event.argument)];
  const RankId rank{lost.rank};
  if (rank.value >= group_->rank_count()) {
    return;
  }
  if (const auto state = state_of(lost.moment)) {
    if (balancer() == nullptr) {
      return;  // No migration, no state.
    }
    if (group_->rank(rank).balancer().state() != *state) {
      world_.engine.schedule(world_.engine.now_ns() + kLookNs, Phase::kStart, *this,
                             event.argument);
      return;
    }
  }
  group_->rank(rank).lose();
  if (balancer() == nullptr) {  // Nobody else would tell.
    world_.observer.rank_stopped({.cause = FailureCause::kRankLost, .rank = rank});
  }
}

void Stage::forward_ready() {
  world_.observer.stage_ready();
}

void Stage::end_forward() {
  world_.observer.forward_ended();
  if (world_.trace == nullptr) {
    return;
  }
  for (std::int32_t rank = 0; rank < shape_.rank_count; ++rank) {
    world_.trace->forward_ran(RankId{rank}, {.step = forward_.step,
                                             .begin_ns = forward_since_ns_,
                                             .layers_ns = forward_.layers_ns,
                                             .balancedness = forward_.balancedness});
  }
}

bool Stage::proceeds(RankId /*rank*/) {
  return world_.observer.rank_proceeds();
}

void Stage::stopped(RankId rank) {
  world_.observer.rank_stopped(group_->rank(rank).balancer().stop_reason());
}

Result<void> Stage::vacate_for(std::int32_t rank_count, const Topology& topology) {
  std::vector<RankId> staying;
  staying.reserve(static_cast<std::size_t>(rank_count));
  for (std::int32_t rank = 0; rank < rank_count; ++rank) {
    staying.push_back(RankId{rank});
  }
  return group_.vacate(staying, topology);
}

// The last ranks leave, new ones come after the last: no rank is renumbered.
Result<void> Stage::rescale(std::int32_t rank_count, const Topology& topology) {
  RankMapping mapping;
  mapping.reserve(static_cast<std::size_t>(group_->rank_count()));
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    mapping.push_back(RankId{rank < rank_count ? rank : -1});
  }
  timing_.set_topology(topology);
  carrier_.set_topology(topology);
  port_faults_.apply();
  if (auto rescaled = group_.rescale(mapping, topology); !rescaled) {
    return rescaled;
  }
  group_.resume_triggers();
  shape_ = group_.balancer()->settings().shape;
  topology_ = topology;
  watch_plans();
  make_layers();
  return {};
}

}  // namespace eplb::sim
