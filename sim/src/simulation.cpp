#include "eplb/sim/simulation.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "eplb/core/assert.hpp"
#include "eplb/sim/environment.hpp"
#include "eplb/sim/expert_layers.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/workload.hpp"
#include "run_statistics.hpp"

namespace eplb::sim {
namespace {

/// What an event of the run means.
enum RunEvent : std::int64_t { kWake = 0, kForwardEnd = 1 };

/// All sizes that follow from a scenario, computed once.
struct Sizes {
  Shape shape;
  Topology topology;
  ExpertLayerCost cost;
  std::int64_t rows_per_rank;
  std::int64_t tokens_per_step;
  std::int64_t other_kernels_ns;

  static Result<Sizes> of(const Scenario& scenario) {
    const ServingOptions& serving = scenario.serving;
    const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
    if (auto valid = validate(shape); !valid) {
      return tl::unexpected(valid.error());
    }
    auto topology = topology_of(scenario.hardware, scenario.parallel);
    if (!topology) {
      return tl::unexpected(topology.error());
    }
    const std::int64_t rows = std::int64_t{serving.requests_per_rank} * serving.tokens_per_request;
    const double others_ms = serving.other_kernels_base_ms +
                             serving.other_kernels_per_request_ms * serving.requests_per_rank;
    return Sizes{.shape = shape,
                 .topology = std::move(*topology),
                 .cost = expert_layer_cost(scenario.model, scenario.hardware, scenario.parallel),
                 .rows_per_rank = rows,
                 .tokens_per_step = rows * scenario.parallel.ranks,
                 .other_kernels_ns = std::llround(others_ms * 1e6)};
  }
};

/// One run: forwards one after another, the balancer between them, the environment beside them.
class Run final : public EventHandler {
 public:
  Run(const Scenario& scenario, Sizes sizes, const PlacementPolicy& policy)
      : scenario_(scenario),
        sizes_(std::move(sizes)),
        clock_(engine_),
        planner_(engine_, *this, policy,
                 {.plan_us_per_layer = scenario.hardware.plan_us_per_layer}),
        transport_(engine_, *this, sizes_.topology,
                   {.bytes_per_expert = bytes_per_expert(scenario.model),
                    .tensors_per_expert = tensors_per_expert(scenario.model.weight_format),
                    .slots_per_rank = sizes_.shape.slots_per_rank(),
                    .hardware = scenario.hardware}),
        maps_(Placement::initial(sizes_.shape)),
        workload_(scenario.model, scenario.workload, sizes_.tokens_per_step, scenario.run.seed),
        layers_(
            {.shape = sizes_.shape,
             .cost = sizes_.cost,
             .block_rows = block_rows_for(static_cast<double>(sizes_.tokens_per_step) *
                                          scenario.model.top_k / scenario.model.logical_experts),
             .dealer = {.choice = scenario.eplb.replica_choice,
                        .rows_per_rank = static_cast<std::int32_t>(sizes_.rows_per_rank),
                        .rank_count = sizes_.shape.rank_count,
                        .noise = scenario.workload.noise,
                        .seed = scenario.run.seed}}) {}

  /// Without a balancer the initial placement serves to the end.
  Result<void> attach_balancer() {
    const double move_ns = static_cast<double>(bytes_per_expert(scenario_.model)) /
                           scenario_.hardware.peer_copy_bandwidth_gb_per_s;
    auto balancer =
        Balancer::create({.options = scenario_.eplb,
                          .shape = sizes_.shape,
                          .topology = sizes_.topology,
                          .costs = {.layer = sizes_.cost, .move_ns_per_expert = move_ns}},
                         {.clock = clock_,
                          .load_recorder = recorder_,
                          .planner = planner_,
                          .transport = transport_,
                          .map_publisher = maps_,
                          .trace_sink = trace_});
    if (!balancer) {
      return tl::unexpected(balancer.error());
    }
    balancer_ = std::move(*balancer);
    return {};
  }

  Result<SimulationResult> serve(const Progress& progress) {
    constexpr std::int64_t kStepsPerReport = 64;
    start_forward();
    std::int64_t reported = 0;
    while (statistics_.step_count() < scenario_.run.steps) {
      const bool pending = engine_.run_next();
      EPLB_ASSERT(pending);
      if (balancer_ != nullptr && balancer_->plan_error().has_value()) {
        return tl::unexpected(*balancer_->plan_error());
      }
      if (progress && statistics_.step_count() >= reported + kStepsPerReport) {
        reported = statistics_.step_count();
        progress(reported);
      }
    }
    return result();
  }

  void on_event(const Event& event) override {
    if (event.argument == kForwardEnd) {
      statistics_.end_forward(engine_.now_ns());
      end_step();
      return;
    }
    if (balancer_ != nullptr) {
      balancer_->progress();
    }
    if (holding_) {
      end_step();
    }
  }

 private:
  void start_forward() {
    const LoadMatrix& counts = workload_.counts_at(statistics_.step_count());
    const ExpertLayers::Forward forward = layers_.run(counts, maps_);
    recorder_.count(counts);
    statistics_.start_forward(engine_.now_ns(), forward.duration_ns, forward.balancedness);
    engine_.schedule(engine_.now_ns() + forward.duration_ns + sizes_.other_kernels_ns,
                     Phase::kCompletion, *this, kForwardEnd);
  }

  /// Between two forwards: asks the balancer whether to go on, again after each hold.
  void end_step() {
    if (balancer_ == nullptr) {
      trace_.add(engine_.now_ns());
    } else if (balancer_->on_step(StepKind::kReal) == StepDecision::kHold) {
      holding_ = true;
      balancer_->progress();
      return;
    } else {
      balancer_->progress();
      note_rearrangement();
    }
    holding_ = false;
    statistics_.end_step(engine_.now_ns());
    if (statistics_.step_count() < scenario_.run.steps) {
      start_forward();
    }
  }

  void note_rearrangement() {
    const auto ended = balancer_->rearrangements();
    if (ended.size() > reports_.size()) {
      const Rearrangement& newest = ended.back();
      reports_.push_back({.rearrangement = newest,
                          .wire_ns = transport_.wire_ns() - reported_wire_ns_,
                          .bytes = newest.moved_experts * bytes_per_expert(scenario_.model)});
      reported_wire_ns_ = transport_.wire_ns();
    }
    statistics_.note_serving(balancer_->committed_layer_count() > 0, !ended.empty());
  }

  [[nodiscard]] MemoryUse memory() const {
    const std::int64_t layer_count = sizes_.shape.layer_count;
    const std::int64_t expert_bytes = bytes_per_expert(scenario_.model);
    const std::int64_t slots = sizes_.shape.slots_per_rank();
    const std::int64_t map_words =
        std::int64_t{sizes_.shape.expert_count} * (LayerMap::slots_width(sizes_.shape) + 1);
    MemoryUse use{.weights_bytes = slots * layer_count * expert_bytes};
    if (balancer_ != nullptr) {
      use.redundant_bytes =
          layer_count * expert_bytes * sizes_.shape.redundant_slot_count / sizes_.shape.rank_count;
      use.landing_bytes = slots * expert_bytes;
      use.maps_bytes = layer_count * map_words * std::int64_t{sizeof(std::int32_t)};
    }
    return use;
  }

  SimulationResult result() {
    trace_.add(static_cast<std::int64_t>(workload_.unseed()));
    SimulationResult result = statistics_.summary();
    const double accepted = static_cast<double>(result.steps) * scenario_.parallel.ranks *
                            scenario_.serving.requests_per_rank * scenario_.serving.accepted_tokens;
    result.throughput_tokens_per_s = accepted / (static_cast<double>(result.simulated_ns) * 1e-9);
    result.breakdown.others_ms = static_cast<double>(sizes_.other_kernels_ns) * 1e-6;
    result.memory = memory();
    result.rearrangements = std::move(reports_);
    result.digest = trace_.value();
    return result;
  }

  const Scenario& scenario_;
  Sizes sizes_;
  EventEngine engine_;
  SimClock clock_;
  SimLoadRecorder recorder_;
  SimPlanner planner_;
  PlainTransport transport_;
  SimMapPublisher maps_;
  DigestSink trace_;
  Workload workload_;
  ExpertLayers layers_;
  std::unique_ptr<Balancer> balancer_;
  bool holding_ = false;
  RunStatistics statistics_;
  std::vector<RearrangementReport> reports_;
  std::int64_t reported_wire_ns_ = 0;
};

}  // namespace

Result<SimulationResult> simulate(const Scenario& scenario, const PlacementPolicy& policy,
                                  const Progress& progress) {
  auto sizes = Sizes::of(scenario);
  if (!sizes) {
    return tl::unexpected(sizes.error());
  }
  Run run(scenario, std::move(*sizes), policy);
  if (scenario.eplb.enabled) {
    if (auto attached = run.attach_balancer(); !attached) {
      return tl::unexpected(attached.error());
    }
  }
  return run.serve(progress);
}

Scenario without_eplb(Scenario scenario) {
  scenario.eplb.enabled = false;
  return scenario;
}

}  // namespace eplb::sim
