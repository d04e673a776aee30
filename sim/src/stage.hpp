#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "eplb/core/topology.hpp"
#include "eplb/sim/balancer_kernels.hpp"
#include "eplb/sim/expert_layers.hpp"
#include "eplb/sim/group/elastic_group.hpp"
#include "eplb/sim/options.hpp"
#include "hardware_timing.hpp"
#include "port_faults.hpp"

namespace eplb::sim {

class Stage;

/// What a stage tells the run that it is a part of.
class StageObserver {
 public:
  StageObserver() = default;
  StageObserver(const StageObserver&) = delete;
  StageObserver& operator=(const StageObserver&) = delete;
  StageObserver(StageObserver&&) = delete;
  StageObserver& operator=(StageObserver&&) = delete;
  virtual ~StageObserver() = default;

  virtual void stage_ready() = 0;
  /// A stage's forward has ended; its balancers have not been asked yet.
  virtual void forward_ended() = 0;
  /// Whether a rank may come to its next forward; else it waits for Stage::resume.
  [[nodiscard]] virtual bool rank_proceeds() = 0;
  virtual void rank_stopped(const Failure& reason) = 0;
  virtual void plan_refused(const Error& error) = 0;
};

/// One pipeline stage: an EP group, its share of each model's expert layers, its balancers.
class Stage final : private Serving, private FlowOwner, private EventHandler {
 public:
  /// Layers of one model that the stage runs.
  struct Segment {
    std::size_t model = 0;  ///< 0 is the target, then the drafts.
    ExpertLayers::Span span;
  };

  struct World {
    EventEngine& engine;
    Violations& violations;
    DigestSink& trace_sink;
    const PlacementPolicy& policy;
    StageObserver& observer;
    GroupTrace* trace = nullptr;  ///< Null: nobody looks.
  };

  Stage(const World& world, const Scenario& scenario, std::vector<Segment> segments,
        const Topology& topology);

  /// Without it the initial placement serves to the end.
  [[nodiscard]] Result<void> attach_balancers();

  /// What a forward takes on the device, undisturbed.
  struct DeviceTime {
    std::int64_t layers_ns = 0;    ///< Expert layers.
    std::int64_t balancer_ns = 0;  ///< Mapping, counting, and agreeing on a flag.
  };

  /// Layers of a forward: `counts` by model, `rows` by rank.
  [[nodiscard]] DeviceTime run_layers(const std::vector<const LoadMatrix*>& counts,
                                      std::span<const std::int64_t> rows);

  struct Forward {
    std::int64_t layers_ns = 0;  ///< Of the slowest stage, the wait for the last rank included.
    std::int64_t others_ns = 0;
    std::int64_t balancer_ns = 0;
    std::int64_t step = 0;
    double balancedness = 0;
  };

  /// The forward whose layers were run; undisturbed it lasts as long as its parts.
  void begin_forward(const Forward& forward);

  /// By how much the latest host was late since the last call.
  [[nodiscard]] std::int64_t take_lateness_ns() { return timing_.take_lateness_ns(); }

  [[nodiscard]] ElasticGroup& group() { return group_; }

  [[nodiscard]] const ElasticGroup& group() const { return group_; }

  [[nodiscard]] const Shape& shape() const { return shape_; }

  [[nodiscard]] std::int32_t domain_count() const { return topology_.domain_count(); }

  [[nodiscard]] const ExpertLayers::Tally& tally() const { return tally_; }

  [[nodiscard]] std::int64_t bytes_of_layers() const;  ///< Of one slot, over all layers.
  [[nodiscard]] std::int64_t widest_row_bytes() const;

  /// The balancer that speaks for the stage; null without EPLB.
  [[nodiscard]] Balancer* balancer() { return group_.balancer(); }

  // Elastic scaling, between two steps, all ranks waiting.
  [[nodiscard]] Result<void> vacate_for(std::int32_t rank_count, const Topology& topology);
  [[nodiscard]] Result<void> rescale(std::int32_t rank_count, const Topology& topology);

 private:
  void flow_ended(std::int64_t token) override;
  void on_event(const Event& event) override;  ///< A rank is lost.

  void forward_ready() override;
  void end_forward() override;

  [[nodiscard]] StepKind kind_of(RankId /*rank*/) override { return StepKind::kReal; }

  [[nodiscard]] bool proceeds(RankId /*rank*/) override;
  void stopped(RankId rank) override;

  void make_layers();
  /// What a rank counts in a layer of the segment.
  [[nodiscard]] CountedPicks counted_picks(const Segment& segment, std::int32_t layer,
                                           const std::vector<const LoadMatrix*>& counts,
                                           std::span<const std::int64_t> rows) const;
  [[nodiscard]] double balancer_ns(const std::vector<const LoadMatrix*>& counts,
                                   std::span<const std::int64_t> rows);
  [[nodiscard]] std::vector<double> wire_factors() const;
  /// Of the first rank of each NVLink domain.
  [[nodiscard]] std::vector<const SimMapPublisher*> maps_in_force();
  void watch_plans();

  World world_;
  const Scenario& scenario_;
  std::vector<Segment> segments_;
  Shape shape_;
  Topology topology_;
  std::vector<std::int64_t> row_bytes_;  ///< By layer of the group.
  ClusterCarrier carrier_;
  HardwareTiming timing_;
  PortFaults port_faults_;
  env::NoFaultPoints no_faults_;
  TracedSink sink_;
  ElasticGroup group_;
  Forward forward_;  ///< The one at hand,
  FlowId reserved_;  ///< and what is reserved for it.
  std::int64_t forward_since_ns_ = 0;
  std::vector<ExpertLayers> layers_;  ///< By segment.
  ExpertLayers::Tally tally_;
};

/// How a scenario's layers are spread: the target's over all stages, drafts on the last.
[[nodiscard]] std::vector<std::vector<Stage::Segment>> segments_of(const Scenario& scenario);

/// The seed of a model's traffic, far from those of runs with the next seeds.
[[nodiscard]] constexpr std::uint64_t seed_of_model(std::uint64_t seed, std::size_t model) {
  return seed + 0x9E3779B97F4A7C15U * model;
}

/// The target, then the drafts.
[[nodiscard]] std::vector<ModelOptions> models_of(const Scenario& scenario);

}  // namespace eplb::sim
