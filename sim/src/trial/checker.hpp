#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eplb/core/env/planner.hpp"
#include "eplb/sim/environment.hpp"
#include "eplb/sim/group/group.hpp"
#include "eplb/sim/trial/swarm.hpp"

namespace eplb::sim {

/// Counts of a forward on one rank.
struct RankCounts {
  LoadMatrix logical;   ///< [layers, experts].
  LoadMatrix physical;  ///< [layers, slots].
};

/// Holds a group to its promises, from outside.
class Checker {
 public:
  Checker(const Swarm& swarm, const EventEngine& engine, Violations& violations)
      : swarm_(swarm), engine_(engine), violations_(violations) {}

  /// A forward of the whole group is about to begin.
  void check_forward(SimGroup& group, std::int64_t version);

  /// What a rank will count in it.
  void check_counts(const SimGroup& group, RankId rank, const RankCounts& counts);

  /// The balancedness that a log of this step has to state, from all ranks' counts.
  void expect_balancedness(std::int64_t step, const Shape& shape,
                           const std::vector<RankCounts>& counts);

  /// Passes that each rank's recorder has handed out, kept through all sizes of the group.
  using Taken = std::vector<std::shared_ptr<std::vector<LoadMatrix>>>;

  [[nodiscard]] Taken& taken() { return taken_; }

  /// Ranks have been renumbered: who logged what is forgotten.
  void forget_logs() { last_logged_.clear(); }

  void on_trace(const env::TraceRecord& record);
  void on_plan_request(RankId rank, const PlanRequest& request);

  /// What the trigger made of a plan.
  void on_verdict(const SimPlanDesk::Answer& answer);

  [[nodiscard]] std::set<std::string>& reached() { return reached_; }

 private:
  void violate(std::string what) { violations_.add(engine_.now_ns(), std::move(what)); }

  [[nodiscard]] LoadMatrix newest_window(RankId rank) const;
  void check_window(RankId rank, const PlanRequest& request);
  void check_window_steps(RankId rank, const PlanRequest& request);
  void check_trigger(RankId rank, const PlanRequest& request);
  void check_cool_down(std::int32_t layer, std::int32_t rank);

  const Swarm& swarm_;
  const EventEngine& engine_;
  Violations& violations_;
  Taken taken_;
  std::map<std::int64_t, LoadMatrix> windows_;         ///< By rearrangement: sum over ranks.
  std::map<std::int64_t, double> window_steps_;        ///< By rearrangement.
  std::map<std::int64_t, std::int64_t> balancedness_;  ///< By step, in millionths.
  std::map<std::int32_t, std::int64_t> last_logged_;   ///< By rank: step.
  std::map<std::int32_t, std::int32_t> commits_in_step_;
  std::map<std::int32_t, std::int64_t> rearrangement_of_;           ///< By rank: its newest.
  std::map<std::int64_t, std::optional<TriggerProblem>> triggers_;  ///< By rearrangement.
  std::map<std::int32_t, std::int64_t> moves_;  ///< By layer: the rearrangement it last paid in.
  std::set<std::string> reached_;
};

/// Folds the trace into the digest and shows it to the checker.
class CheckedTrace final : public DigestSink {
 public:
  explicit CheckedTrace(Checker& checker) : checker_(checker) {}

  void record(const env::TraceRecord& record) override {
    DigestSink::record(record);
    checker_.on_trace(record);
  }

 private:
  Checker& checker_;
};

}  // namespace eplb::sim
