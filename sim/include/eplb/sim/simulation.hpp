#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/timeline.hpp"

namespace eplb::sim {

struct StepTimes {
  double mean_ms = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

/// Where the mean step's time went.
struct StepBreakdown {
  double mega_moe_ms = 0;  ///< Expert layers, and the first one's wait for the last rank.
  double arrival_ms = 0;   ///< Of that, the wait.
  double others_ms = 0;    ///< Every other kernel.
  double idle_ms = 0;      ///< Between forwards, without a cause of the balancer's.
  double eplb_ms = 0;      ///< Its kernels, holds, commits, forwards slowed by copies.
};

/// Means over steps of each step's balancedness; `before` is up to the first commit and `after`
/// from the end of the first rearrangement on, none where there was no such step.
struct BalancednessSummary {
  double mean = 0;
  double min_layer = 0;
  std::optional<double> before;
  std::optional<double> after;
  /// What the exact split over the same replicas would have reached; none where the replica choice
  /// is an even one.
  std::optional<double> exact_split;
};

/// Bytes on each rank.
struct MemoryUse {
  std::int64_t weights_bytes = 0;    ///< Of all slots.
  std::int64_t redundant_bytes = 0;  ///< Of the slots that EPLB adds, a part of the weights.
  std::int64_t landing_bytes = 0;
  std::int64_t maps_bytes = 0;
};

struct RearrangementReport {
  Rearrangement rearrangement;
  std::int64_t wire_ns = 0;
};

struct SimulationResult {
  std::int64_t steps = 0;
  std::int64_t simulated_ns = 0;
  double throughput_tokens_per_s = 0;  ///< Accepted tokens of all ranks.
  StepTimes step;
  StepBreakdown breakdown;
  BalancednessSummary balancedness;
  /// Of all rows that experts are asked for, those that leave their NVLink domain, mean over steps;
  /// none where the group has one domain.
  std::optional<double> network_share = {};
  std::int64_t hold_count = 0;
  std::int64_t hold_ns = 0;
  std::int64_t commit_count = 0;         ///< Steps whose next forward waited for a commit's copies.
  std::int64_t commit_ns = 0;            ///< What they waited, in all.
  std::int64_t slowed_ns = 0;            ///< What forwards lost to copies beside them, in all.
  std::int64_t balancer_kernels_ns = 0;  ///< What mapping, counting and agreeing took, in all.
  MemoryUse memory;
  std::vector<RearrangementReport> rearrangements;
  std::int64_t aborted_rearrangement_count = 0;
  std::uint64_t digest = 0;  ///< Of all that happened, and the next random number.
};

/// Called now and then with the steps done.
using Progress = std::function<void(std::int64_t steps_done)>;

/// Serves `scenario.run.steps` decode steps, with EPLB if it is enabled (compare_off is the
/// caller's to obey). A pure function of the scenario: same scenario, same result, on any build.
/// kInvalidArgument on an illegal shape; the policy's own error if it cannot plan; kPeerFailed if
/// the group ended by itself. What happens is put on `timeline`, if one is given: all rows,
/// statuses and rearrangements, and the steps around them.
[[nodiscard]] Result<SimulationResult> simulate(const Scenario& scenario,
                                                const PlacementPolicy& policy,
                                                const Progress& progress,
                                                Timeline* timeline = nullptr);

/// The same scenario without EPLB.
[[nodiscard]] Scenario without_eplb(Scenario scenario);

}  // namespace eplb::sim
