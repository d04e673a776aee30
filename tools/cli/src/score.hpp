#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/topology.hpp"

namespace eplb::cli {

/// Windows that a policy plans on; it is shown all before them as history.
inline constexpr std::size_t kPlannedWindows = 4;

/// Windows of the shortest trace: two plans, so that there is a second one whose moves count.
inline constexpr std::size_t kTraceWindowsMin = kPlannedWindows + 2;

/// How a policy did on a trace, or on the mean of several.
struct Score {
  double balancedness = 0;         ///< Of the windows served, even split over replicas, mean.
  double worst = 0;                ///< Of the worst window served, even split.
  double balancedness_hashed = 0;  ///< As the published replica choice splits, mean.
  double worst_hashed = 0;
  double balancedness_shares = 0;  ///< By shares learnt from what the policy was shown, mean.
  double balancedness_exact = 0;   ///< By the exact split of the window served, mean.
  /// Where ranks take the nearest replicas and bring the same load each, mean, and the share of
  /// rows that leave their node then; nothing where there is one node.
  double balancedness_nearest = 0;
  double network_share = 0;
  double regret = 0;      ///< Largest rank load / bound of the window served, mean over layers.
  double moved = 0;       ///< Rows moved a plan as a share of all slots, but for the first plan.
  double duplicates = 0;  ///< Slots a layer that hold an expert which their rank already has.
  double plan_ms = 0;     ///< The policy's call, mean.
};

/// What the windows served would allow. Where one expert outweighs a rank a policy can beat
/// `default` even without its foresight, but never the bound.
struct Ceiling {
  double forecast = 0;  ///< Balancedness of `default` planned on the very window that it serves.
  double bound = 0;     ///< Balancedness if every layer reached its bound.
};

struct ScoreTask {
  Shape shape;
  const Topology& topology;
  std::span<const RealLoadMatrix> windows;  ///< At least kTraceWindowsMin, [layers, experts].
  std::int32_t rows_per_rank;               ///< Rows of a step on each rank, for the hashed split.
};

/// Plans online: on the windows up to each, from the fourth on, then serves the next one, each time
/// from the placement before, the first time from the initial one. A window without load changes
/// nothing. `on_plan` is told how many plans are made. The policy's error, if it has one.
[[nodiscard]] Result<Score> score_policy(const ScoreTask& task, const PlacementPolicy& policy,
                                         const std::function<void(std::size_t)>& on_plan);

[[nodiscard]] Result<Ceiling> ceiling_of(const ScoreTask& task);

/// Means, but for `worst`, which is the worst of all; at least one score.
[[nodiscard]] Score mean_score(std::span<const Score> scores);

}  // namespace eplb::cli
