#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/env/environment.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/landing_pool.hpp"
#include "eplb/core/load_window.hpp"
#include "eplb/core/migration_plan.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/topology.hpp"

namespace eplb {

/// What kind of forward has just ended. All kinds are reported on every rank.
enum class StepKind : std::uint8_t {
  kReal,
  kDummy,    ///< Counted for the cadence, never recorded.
  kProfile,  ///< Warm-up: moves no counter.
};

enum class StepDecision : std::uint8_t {
  kProceed,
  kHold,  ///< Run no forward; call on_step again after progress.
};

/// One rearrangement from its trigger to its last commit.
struct Rearrangement {
  std::int64_t start_step = 0;
  std::int64_t end_step = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t moved_experts = 0;  ///< Experts that crossed between ranks.
};

/// Counts load, plans at an interval, moves weights while serving goes on, commits at step
/// boundaries. It has two entries that never block, and the world never runs them at once.
///
/// It acts for its whole EP group: the load recorder gives the group's sums, and a transport's
/// ticket stands for all ranks.
class Balancer {
 public:
  struct Settings {
    EplbOptions options;
    Shape shape;
    Topology topology;
    PolicyCosts costs;
  };

  /// Starts from the initial placement with the recording gate as the cadence wants it.
  /// kInvalidArgument on an illegal shape or window.
  [[nodiscard]] static Result<std::unique_ptr<Balancer>> create(
      Settings settings, const env::Environment& environment);

  /// Once after each forward: closes its load, commits what has landed, moves the counter and
  /// triggers a rearrangement when it is due. After a hold, call again with the same kind.
  [[nodiscard]] StepDecision on_step(StepKind kind);

  /// As often as the world likes: takes a plan that is ready, notes landed rows, starts at most one
  /// layer's transfers.
  void progress();

  [[nodiscard]] const Placement& placement() const { return placement_; }

  [[nodiscard]] bool rearranging() const { return state_ != State::kIdle; }

  /// Layers committed since the start, each as often as it was.
  [[nodiscard]] std::int64_t committed_layer_count() const { return committed_layer_count_; }

  /// Those that have ended, oldest first.
  [[nodiscard]] std::span<const Rearrangement> rearrangements() const { return rearrangements_; }

  /// Why the newest plan failed; the old placement serves on. None if it did not fail.
  [[nodiscard]] const std::optional<Error>& plan_error() const { return plan_error_; }

 private:
  enum class State : std::uint8_t { kIdle, kPlanning, kMoving };

  /// A layer whose rows are on their way or wait for a step boundary.
  struct LayerInFlight {
    std::size_t plan_index;
    env::Ticket ticket;
    bool landed;
  };

  Balancer(Settings settings, const env::Environment& environment, LoadWindow window);

  void take_landed_loads();
  void commit_landed_layers();
  void advance_cadence();
  void refresh_recording();
  void trigger();
  void take_plan(Result<Placement> plan);
  void note_landed();
  void start_next_layer();
  void end_rearrangement();
  void trace(env::TraceEvent event, std::int64_t subject, std::int64_t value) const;

  Settings settings_;
  env::Environment environment_;
  LoadWindow window_;
  std::vector<RealLoadMatrix> history_;
  Placement placement_;
  std::vector<env::PlacementEpoch> epochs_;

  std::int64_t step_ = 0;     ///< Steps ended, profile steps apart.
  std::int64_t counter_ = 0;  ///< vLLM's expert_rearrangement_step.
  bool recording_ = false;
  bool step_open_ = false;  ///< on_step has answered hold and waits to be called again.

  State state_ = State::kIdle;
  Rearrangement rearrangement_;
  MigrationPlan plan_;
  std::vector<LayerPlacement> targets_;  ///< New placement of plan_.layers, in their order.
  std::size_t next_layer_ = 0;
  std::deque<LayerInFlight> in_flight_;
  LandingPool landing_pool_;

  std::int64_t committed_layer_count_ = 0;
  std::vector<Rearrangement> rearrangements_;
  std::optional<Error> plan_error_;
};

}  // namespace eplb
