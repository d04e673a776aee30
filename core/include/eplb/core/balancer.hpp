#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/cadence.hpp"
#include "eplb/core/env/environment.hpp"
#include "eplb/core/failure.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/layer_shares.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/load_window.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/core/trigger.hpp"

namespace eplb {

class MigrationMachine;
struct LayerSchedule;

/// What kind of forward has just ended. All kinds are reported on every rank.
enum class StepKind : std::uint8_t {
  kReal,
  kDummy,    ///< Counted for the cadence, never recorded.
  kProfile,  ///< Warm-up: moves no counter.
};

enum class StepDecision : std::uint8_t {
  kProceed,
  kHold,  ///< Run no forward; call on_step again after progress.
  kStop,  ///< The group has ended: stop_reason() says why. Run no forward any more.
};

/// One rearrangement from its trigger to its last commit.
struct Rearrangement {
  std::int64_t start_step = 0;
  std::int64_t end_step = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t moved_experts = 0;  ///< Experts that crossed between ranks.
  std::int64_t moved_bytes = 0;    ///< Their weights.
  std::int64_t committed_layers = 0;
  std::int64_t proposed_layers = 0;            ///< That the policy wanted to change.
  std::optional<TriggerVerdict> verdict = {};  ///< On these; none without a trigger.
  Failure abort = {};  ///< Why it ended early; layers committed before stay.
};

/// A logged step's balance over the whole group (eplb-semantics 3.2).
struct BalancednessEntry {
  std::int64_t step = 0;
  double mean_load = 0;  ///< Of ranks, summed over layers.
  double max_load = 0;   ///< Of the busiest rank of each layer, summed over layers.
  double balancedness = 0;
};

/// New rank of each old one; -1 where it leaves.
using RankMapping = std::vector<RankId>;

/// One rank's balancer: counts load, plans at an interval, moves weights while serving goes on,
/// commits at step boundaries, on all ranks of its group in the same step. Its two entries never
/// block, and the world never runs them at once.
///
/// Every rank of a group must make the same calls between the same two steps, progress apart.
class Balancer {
 public:
  struct Settings {
    EplbOptions options;
    Shape shape;
    Topology topology;
    PolicyCosts costs = {};
    std::vector<std::int64_t> row_bytes;  ///< An expert's weights, one a layer.
  };

  /// All that a rank must know to join a running group.
  struct Snapshot {
    Placement placement;
    std::vector<env::PlacementEpoch> epochs;  ///< One a layer.
    std::int64_t step = 0;
    std::int64_t cadence = 0;
    std::int64_t rearrangement = 0;
    LoadHistory history;  ///< What policies are shown, so that all ranks ask theirs alike.
    TriggerMemory trigger_memory = {};
  };

  /// Reserves the regions and tells the peers. Starts from the initial placement, whose maps the
  /// world has in place, with the recording gate as the cadence wants it.
  /// kInvalidArgument on an illegal shape or window, or a single rank, kInvalidConfig on an illegal
  /// option; the memory's error if it refuses, which ends the group too.
  [[nodiscard]] static Result<std::unique_ptr<Balancer>> create(
      Settings settings, const env::Environment& environment);

  /// As create, on a rank that comes new to a running group, with the other ranks' rescale. The
  /// snapshot's shape must be the settings'.
  [[nodiscard]] static Result<std::unique_ptr<Balancer>> join(Settings settings,
                                                              const env::Environment& environment,
                                                              Snapshot snapshot);

  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;
  Balancer(Balancer&&) = delete;
  Balancer& operator=(Balancer&&) = delete;
  ~Balancer();

  /// Once after each forward: closes its load, commits what all ranks know to have landed, moves
  /// the counter and triggers a rearrangement when it is due. After a hold, call again with the
  /// same kind, after some progress.
  [[nodiscard]] StepDecision on_step(StepKind kind);

  /// As often as the world likes: polls, and starts at most one batch of copies. True if a call at
  /// once may do more.
  bool progress();

  /// Ends the rearrangement that runs, and triggers, counts and logs none until `resume`. Steps go
  /// on until drained.
  void drain();

  /// Whether nothing moves, no count and no log is under way.
  [[nodiscard]] bool drained() const;

  /// Ends a drain.
  void resume() { draining_ = false; }

  /// Gives the regions back, all weights lost. kAborted unless drained.
  [[nodiscard]] Result<void> release_memory();

  /// Reserves them anew. The world then loads every slot's weights as `placement` says, all
  /// replicas.
  [[nodiscard]] Result<void> reserve_memory();

  /// Moves all experts to `staying` ranks (ascending), at the next step, which holds until it is
  /// done. `topology` is theirs. kAborted unless drained; kInvalidArgument if they have too few
  /// slots.
  [[nodiscard]] Result<void> vacate(std::vector<RankId> staying, Topology topology);

  /// Moves this balancer to a group of another size, with the load window kept. Ranks that come new
  /// hold nothing until a rearrangement at the next step, which holds until it is done. Slots a
  /// rank stay. kAborted unless drained; kInvalidArgument if a leaving rank holds the last replica
  /// of an expert; the memory's error if it refuses, which ends the group: then this balancer is of
  /// no more use.
  [[nodiscard]] Result<void> rescale(const env::Environment& environment,
                                     const RankMapping& mapping, Topology topology);

  /// What a rank that joins with the next rescale starts from. kAborted unless drained.
  [[nodiscard]] Result<Snapshot> snapshot_for(const RankMapping& mapping,
                                              std::int32_t rank_count) const;

  [[nodiscard]] const Placement& placement() const { return placement_; }

  /// What this rank's forwards look up, by the placement and the replica choice: as published.
  [[nodiscard]] LayerMap layer_map(LayerId layer) const;

  /// Commits of a layer so far.
  [[nodiscard]] env::PlacementEpoch epoch(LayerId layer) const { return epochs_[layer.index()]; }

  [[nodiscard]] MigrationState state() const;

  /// Why the group has ended, or raised; none while it serves.
  [[nodiscard]] const Failure& stop_reason() const;

  /// Those that have ended, oldest first.
  [[nodiscard]] std::span<const Rearrangement> rearrangements() const { return rearrangements_; }

  /// The newest logged step; none before the first.
  [[nodiscard]] const std::optional<BalancednessEntry>& balancedness() const {
    return balancedness_;
  }

  [[nodiscard]] std::int64_t committed_layer_count() const { return committed_layer_count_; }

  /// Negative while a rearrangement overruns.
  [[nodiscard]] std::int64_t steps_until_rearrangement() const {
    return cadence_.steps_until_rearrangement();
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  /// A rearrangement that must come at the next step, held.
  struct ForcedRearrangement {
    std::optional<std::vector<RankId>> staying;
    Shape shape;        ///< Of the ranks that are to hold experts.
    Topology topology;  ///< Of the same.
  };

  Balancer(Settings settings, const env::Environment& environment, Snapshot start,
           std::optional<LoadWindow> window);

  [[nodiscard]] static Result<std::unique_ptr<Balancer>> make(Settings settings,
                                                              const env::Environment& environment,
                                                              Snapshot start);

  [[nodiscard]] Result<void> reserve();
  void make_machine(LoadHistory history);
  void open_step(StepKind kind);
  void take_landed_loads();
  [[nodiscard]] LoadMatrix rank_loads_of(const env::RecordedPass& pass) const;
  void start_log(std::int64_t step, const LoadMatrix& rank_loads);
  void take_logs();
  void refresh_recording();
  [[nodiscard]] bool agree();
  void commit(std::int32_t layer_count);
  void forget_shares();
  void publish_all();
  void publish(LayerId layer);
  void fill_at_next_step();
  void trigger();
  void end_rearrangement();
  [[nodiscard]] StepDecision close_step();
  void trace(env::TraceEvent event, std::int64_t subject, std::int64_t value) const;

  Settings settings_;
  std::optional<env::Environment> environment_;
  RankId rank_;  ///< Asked for once, so that what only looks asks nothing of the environment.
  std::optional<LoadWindow> window_;  ///< None where this rank counts nothing.
  Placement placement_;
  std::shared_ptr<const std::vector<LayerShares>> shares_;  ///< One a layer; null: none known.
  std::vector<env::PlacementEpoch> epochs_;
  Cadence cadence_;
  std::unique_ptr<MigrationMachine> machine_;

  std::int64_t step_ = 0;  ///< Steps ended, profile steps apart.
  std::optional<bool> recording_;
  bool step_open_ = false;  ///< on_step has answered hold and waits to be called again.
  bool draining_ = false;
  std::int64_t passes_under_way_ = 0;
  std::deque<std::int64_t> logs_under_way_;  ///< Steps.
  std::optional<ForcedRearrangement> forced_;

  TriggerMemory trigger_memory_;

  std::int64_t rearrangement_count_ = 0;  ///< Started; number of the newest.
  Rearrangement rearrangement_;
  std::int64_t committed_layer_count_ = 0;
  std::vector<Rearrangement> rearrangements_;
  std::optional<BalancednessEntry> balancedness_;
};

}  // namespace eplb
