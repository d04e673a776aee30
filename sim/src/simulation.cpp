#include "eplb/sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "eplb/core/assert.hpp"
#include "eplb/sim/environment.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/workload.hpp"
#include "run_statistics.hpp"
#include "stage.hpp"
#include "step_work.hpp"

namespace eplb::sim {
namespace {

/// Between two looks whether counts have been read back, before a group changes its size.
constexpr std::int64_t kDrainPollNs = 10'000;

std::int32_t most_ranks(const Scenario& scenario) {
  std::int32_t ranks = scenario.parallel.ranks;
  for (const ScaleEvent& event : scenario.parallel.scale) {
    ranks = std::max(ranks, event.ranks);
  }
  return ranks;
}

/// One run: stages whose forwards run together, each a group of balancers, until enough steps.
class Run final : public StageObserver, private EventHandler {
 public:
  /// `timeline` may be null.
  Run(const Scenario& scenario, const PlacementPolicy& policy, const Topology& topology,
      Timeline* timeline)
      : scenario_(scenario),
        rank_count_(scenario.parallel.ranks),
        step_work_(scenario.serving, scenario.run.seed) {
    Stage::World world{.engine = engine_,
                       .violations = violations_,
                       .trace_sink = trace_,
                       .policy = policy,
                       .observer = *this};
    for (auto& segments : segments_of(scenario)) {
      if (timeline != nullptr) {
        const auto stage = static_cast<std::int32_t>(stages_.size());
        const std::string prefix =
            scenario.parallel.pipeline_stages > 1 ? "stage " + std::to_string(stage) + " " : "";
        traces_.push_back(
            std::make_unique<GroupTrace>(engine_, *timeline, stage * most_ranks(scenario), prefix));
        world.trace = traces_.back().get();
      }
      stages_.push_back(std::make_unique<Stage>(world, scenario, std::move(segments), topology));
    }
    for (const ModelOptions& model : models_of(scenario)) {
      workloads_.push_back(std::make_unique<Workload>(
          model, scenario.workload, 1, seed_of_model(scenario.run.seed, workloads_.size())));
    }
  }

  Result<void> attach_balancers() {
    for (const auto& stage : stages_) {
      if (auto attached = stage->attach_balancers(); !attached) {
        return attached;
      }
    }
    return {};
  }

  Result<SimulationResult> serve(const Progress& progress) {
    constexpr std::int64_t kStepsPerReport = 64;
    resume_all();
    std::int64_t reported = 0;
    while (!finished_ && !error_ && !stop_reason_) {
      const bool pending = engine_.run_next();
      EPLB_ASSERT(pending);
      EPLB_ASSERT(!violations_.any());
      if (progress && statistics_.step_count() >= reported + kStepsPerReport) {
        reported = statistics_.step_count();
        progress(reported);
      }
    }
    if (error_) {
      return tl::unexpected(*error_);
    }
    if (stop_reason_) {
      return fail(ErrorCode::kPeerFailed, "the group has ended: " + describe(*stop_reason_));
    }
    return result();
  }

 private:
  /// Ranks of all stages.
  [[nodiscard]] std::int32_t rank_total() const {
    return rank_count_ * static_cast<std::int32_t>(stages_.size());
  }

  void resume_all() {
    waiting_ranks_ = 0;
    for (const auto& stage : stages_) {
      stage->group()->resume();
    }
  }

  void stage_ready() override {
    if (++ready_stages_ == stages_.size()) {
      ready_stages_ = 0;
      close_step();
      begin_step();
    }
  }

  void begin_step() {
    const std::int64_t step = statistics_.step_count();
    const StepWork::Step& work = step_work_.draw(rank_count_);
    std::vector<const LoadMatrix*> counts;
    for (const auto& workload : workloads_) {
      workload->set_tokens_per_step(work.row_count);
      counts.push_back(&workload->counts_at(step));
    }
    const auto stage_count = static_cast<double>(stages_.size());
    const std::int64_t others_ns = std::llround(work.others_ns / stage_count);
    const std::int64_t wait_ns = std::llround(work.wait_ns / stage_count);
    Stage::DeviceTime slowest;
    for (const auto& stage : stages_) {
      const Stage::DeviceTime time = stage->run_layers(counts, work.rows);
      if (time.layers_ns + time.balancer_ns > slowest.layers_ns + slowest.balancer_ns) {
        slowest = time;
      }
    }
    const std::int64_t layers_ns = slowest.layers_ns + wait_ns;
    const Balancedness balancedness = balancedness_now();
    statistics_.start_forward(engine_.now_ns(), {.expert_layers_ns = layers_ns,
                                                 .arrival_ns = wait_ns,
                                                 .others_ns = others_ns,
                                                 .balancer_ns = slowest.balancer_ns,
                                                 .balancedness = balancedness,
                                                 .exact_split = exact_split_now(balancedness),
                                                 .network_share = network_share_now()});
    choose_shown(step);
    tokens_served_ += std::int64_t{scenario_.serving.requests_per_rank} * rank_count_;
    pausing_ = step + 1 == scenario_.run.steps || scaling_ != nullptr || scale_due(step + 1);
    for (const auto& stage : stages_) {
      stage->begin_forward({.layers_ns = layers_ns,
                            .others_ns = others_ns,
                            .balancer_ns = slowest.balancer_ns,
                            .step = step,
                            .balancedness = balancedness.value});
    }
  }

  void forward_ended() override { statistics_.end_forward(engine_.now_ns()); }

  /// Steps are many and alike: a timeline shows the first ones, and those with a rearrangement.
  void choose_shown(std::int64_t step) {
    constexpr std::int64_t kFirstSteps = 100;
    constexpr std::int64_t kStepsAfter = 10;
    for (std::size_t index = 0; index < traces_.size(); ++index) {
      if (stages_[index]->balancer() != nullptr && !stages_[index]->group().idle()) {
        shown_until_ = step + kStepsAfter;
      }
    }
    for (const auto& trace : traces_) {
      trace->show_forwards(step < kFirstSteps || step < shown_until_);
    }
  }

  /// A step lasts until the next forward begins.
  void close_step() {
    if (statistics_.in_step()) {
      const std::int64_t held_ns = held();
      std::int64_t late_ns = 0;
      for (const auto& stage : stages_) {
        late_ns = std::max(late_ns, stage->take_lateness_ns());
      }
      statistics_.end_step(engine_.now_ns(),
                           {.held_ns = held_ns - held_before_ns_, .late_ns = late_ns});
      held_before_ns_ = held_ns;
      note_rearrangements();
      if (scenario_.run.warmup_steps > 0 &&
          statistics_.step_count() == scenario_.run.warmup_steps) {
        statistics_.start_over();
        tokens_served_ = 0;
      }
    }
  }

  [[nodiscard]] std::int64_t held() const {
    std::int64_t longest_ns = 0;
    for (const auto& stage : stages_) {
      longest_ns = std::max(longest_ns, stage->group().held_ns());
    }
    return longest_ns;
  }

  [[nodiscard]] Balancedness balancedness_now() const {
    Eigen::Index rows = 0;
    for (const auto& stage : stages_) {
      rows += stage->tally().rank_loads.rows();
    }
    RankLoadMatrix loads(rows, rank_count_);
    rows = 0;
    for (const auto& stage : stages_) {
      const RankLoadMatrix& part = stage->tally().rank_loads;
      loads.middleRows(rows, part.rows()) = part;
      rows += part.rows();
    }
    return balancedness(loads);
  }

  /// What the exact split would have made of the same forward.
  [[nodiscard]] std::optional<double> exact_split_now(const Balancedness& served) const {
    if (is_even(scenario_.eplb.replica_choice)) {
      return std::nullopt;
    }
    std::int64_t least_max_load = 0;
    for (const auto& stage : stages_) {
      const auto& of_layers = stage->tally().least_max_loads;
      least_max_load = std::accumulate(of_layers.begin(), of_layers.end(), least_max_load);
    }
    return least_max_load > 0 ? served.mean_load / static_cast<double>(least_max_load) : 0;
  }

  /// Of the forward at hand.
  [[nodiscard]] std::optional<double> network_share_now() const {
    if (stages_.front()->domain_count() == 1) {
      return std::nullopt;
    }
    double rows = 0;
    double all = 0;
    for (const auto& stage : stages_) {
      rows += stage->tally().network_rows;
      all += static_cast<double>(stage->tally().rank_loads.sum());
    }
    return all > 0 ? rows / all : 0;
  }

  [[nodiscard]] bool rank_proceeds() override {
    if (!pausing_) {
      return true;
    }
    if (++waiting_ranks_ == rank_total()) {
      engine_.schedule(engine_.now_ns(), Phase::kStart, *this, 0);
    }
    return false;
  }

  void rank_stopped(const Failure& reason) override { stop_reason_ = reason; }

  void plan_refused(const Error& error) override { error_ = error; }

  /// All ranks wait between two steps: the run has ended, or the group changes its size.
  void on_event(const Event& /*event*/) override {
    if (statistics_.step_count() + 1 == scenario_.run.steps) {
      close_step();
      finished_ = true;
      return;
    }
    if (auto scaled = scale(); !scaled) {
      error_ = scaled.error();
    }
  }

  [[nodiscard]] bool scale_due(std::int64_t steps) const {
    const auto& events = scenario_.parallel.scale;
    return next_scale_ < events.size() && events[next_scale_].at_step <= steps;
  }

  enum class Scaling : std::uint8_t { kDraining, kVacating };

  Result<void> scale() {
    const std::int32_t ranks = scenario_.parallel.scale[next_scale_].ranks;
    if (scaling_ == nullptr) {
      scaling_ = std::make_unique<Scaling>(Scaling::kDraining);
      for (const auto& stage : stages_) {
        stage->group().drain();
      }
    }
    if (std::ranges::any_of(stages_, [](const auto& stage) { return !stage->group().idle(); })) {
      resume_all();  // What runs is aborted by steps.
      return {};
    }
    if (std::ranges::any_of(stages_, [](const auto& stage) { return !stage->group().drained(); })) {
      engine_.schedule(engine_.now_ns() + kDrainPollNs, Phase::kStart, *this, 0);
      return {};
    }
    ParallelOptions parallel = scenario_.parallel;
    parallel.ranks = ranks;
    auto topology = topology_of(scenario_.hardware, parallel);
    if (!topology) {
      return tl::unexpected(topology.error());
    }
    if (ranks < rank_count_ && *scaling_ == Scaling::kDraining) {
      *scaling_ = Scaling::kVacating;
      for (const auto& stage : stages_) {
        if (auto vacated = stage->vacate_for(ranks, *topology); !vacated) {
          return vacated;
        }
      }
      resume_all();
      return {};
    }
    note_rearrangements();
    for (const auto& stage : stages_) {
      if (auto rescaled = stage->rescale(ranks, *topology); !rescaled) {
        return rescaled;
      }
    }
    rank_count_ = ranks;
    scaling_.reset();
    ++next_scale_;
    resume_all();
    return {};
  }

  void note_rearrangements() {
    bool any_commit = false;
    bool any_rearrangement = false;
    reported_.resize(stages_.size());
    for (std::size_t index = 0; index < stages_.size(); ++index) {
      Stage& stage = *stages_[index];
      if (stage.balancer() == nullptr) {
        continue;
      }
      const auto ended = stage.balancer()->rearrangements();
      Reported& reported = reported_[index];
      for (; reported.count < ended.size(); ++reported.count) {
        const Rearrangement& newest = ended[reported.count];
        if (newest.abort) {
          ++aborted_count_;
        } else if (newest.proposed_layers > 0) {
          reports_.push_back(
              {.rearrangement = newest, .wire_ns = stage.group().wire_ns() - reported.wire_ns});
        }
        reported.wire_ns = stage.group().wire_ns();
      }
      any_commit = any_commit || stage.balancer()->committed_layer_count() > 0;
      any_rearrangement = any_rearrangement || !ended.empty();
    }
    statistics_.note_serving(any_commit, any_rearrangement);
  }

  [[nodiscard]] MemoryUse memory() {
    MemoryUse use;
    for (const auto& stage : stages_) {
      const Shape& shape = stage->shape();
      const std::int64_t slots = shape.slots_per_rank();
      const std::int64_t map_words =
          std::int64_t{shape.expert_count} * (LayerMap::slots_width(shape) + 1);
      MemoryUse of_stage{.weights_bytes = slots * stage->bytes_of_layers()};
      if (stage->balancer() != nullptr) {
        of_stage.redundant_bytes =
            stage->bytes_of_layers() * shape.redundant_slot_count / shape.rank_count;
        of_stage.landing_bytes =
            stage->group()->rows().landing_rows(RankId{0}) * stage->widest_row_bytes();
        of_stage.maps_bytes = shape.layer_count * map_words * std::int64_t{sizeof(std::int32_t)};
        if (scenario_.eplb.replica_choice == ReplicaChoice::kShares) {  // A threshold a replica.
          of_stage.maps_bytes += std::int64_t{shape.layer_count} * shape.expert_count *
                                 LayerMap::slots_width(shape) * std::int64_t{sizeof(std::uint16_t)};
        }
      }
      // Stages are on GPUs of their own; the fullest one counts.
      if (of_stage.weights_bytes + of_stage.landing_bytes >=
          use.weights_bytes + use.landing_bytes) {
        use = of_stage;
      }
    }
    return use;
  }

  SimulationResult result() {
    for (const auto& workload : workloads_) {
      trace_.add(static_cast<std::int64_t>(workload->unseed()));
    }
    trace_.add(engine_.now_ns());
    SimulationResult result = statistics_.summary();
    const double accepted = static_cast<double>(tokens_served_) * scenario_.serving.accepted_tokens;
    result.throughput_tokens_per_s = accepted / (static_cast<double>(result.simulated_ns) * 1e-9);
    result.memory = memory();
    result.rearrangements = std::move(reports_);
    result.aborted_rearrangement_count = aborted_count_;
    result.digest = trace_.value();
    return result;
  }

  /// What of a stage's rearrangements is already in the report.
  struct Reported {
    std::size_t count = 0;
    std::int64_t wire_ns = 0;
  };

  const Scenario& scenario_;
  EventEngine engine_;
  Violations violations_;
  DigestSink trace_;
  std::int32_t rank_count_;
  StepWork step_work_;
  std::vector<std::unique_ptr<GroupTrace>> traces_;  ///< By stage; none if nobody looks.
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<Workload>> workloads_;  ///< By model.
  RunStatistics statistics_;
  std::int64_t shown_until_ = 0;
  std::size_t ready_stages_ = 0;
  std::int32_t waiting_ranks_ = 0;
  bool pausing_ = false;  ///< Ranks wait after the step at hand.
  bool finished_ = false;
  std::size_t next_scale_ = 0;
  std::unique_ptr<Scaling> scaling_;
  std::int64_t held_before_ns_ = 0;
  std::int64_t tokens_served_ = 0;  ///< Requests times steps.
  std::vector<RearrangementReport> reports_;
  std::vector<Reported> reported_;  ///< By stage.
  std::int64_t aborted_count_ = 0;
  std::optional<Error> error_;
  std::optional<Failure> stop_reason_;
};

}  // namespace

Result<SimulationResult> simulate(const Scenario& scenario, const PlacementPolicy& policy,
                                  const Progress& progress, Timeline* timeline) {
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  if (auto valid = validate(shape); !valid) {
    return tl::unexpected(valid.error());
  }
  auto topology = topology_of(scenario.hardware, scenario.parallel);
  if (!topology) {
    return tl::unexpected(topology.error());
  }
  Run run(scenario, policy, *topology, timeline);
  if (scenario.eplb.enabled) {
    if (auto attached = run.attach_balancers(); !attached) {
      return tl::unexpected(attached.error());
    }
  }
  return run.serve(progress);
}

Scenario without_eplb(Scenario scenario) {
  scenario.eplb.enabled = false;
  scenario.parallel.scale.clear();
  return scenario;
}

}  // namespace eplb::sim
