#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Loads that a plan is judged under at once. An even count, so that a compiler fills its vector
/// registers; what directions leave free is the forecast itself, which so counts more than once.
inline constexpr std::size_t kScenarioCount = 10;

/// One figure for each scenario; the forecast comes first.
using Scenarios = std::array<double, kScenarioCount>;

// Products and sums over scenarios are taken in two halves side by side: each step of a single one
// would wait for the last.
static_assert(kScenarioCount % 2 == 0);

[[nodiscard]] inline double product(const Scenarios& values) {
  std::array<double, 2> halves{1, 1};
  for (std::size_t scenario = 0; scenario < kScenarioCount; scenario += 2) {
    halves[0] *= values[scenario];
    halves[1] *= values[scenario + 1];
  }
  return halves[0] * halves[1];
}

[[nodiscard]] inline double weighed_sum(const Scenarios& values, const Scenarios& weights) {
  std::array<double, 2> halves{};
  for (std::size_t scenario = 0; scenario < kScenarioCount; scenario += 2) {
    halves[0] += weights[scenario] * values[scenario];
    halves[1] += weights[scenario + 1] * values[scenario + 1];
  }
  return halves[0] + halves[1];
}

/// Each direction takes two scenarios, and the forecast keeps at least two.
inline constexpr std::int32_t kDirectionsMax = kScenarioCount / 2 - 1;

struct ScenarioOptions {
  /// Directions of recent change, the strongest first; at most kDirectionsMax.
  std::int32_t direction_count = kDirectionsMax;
  /// How far a scenario goes along its direction, in root mean square steps from one part of the
  /// history to the next. Steps add up while a plan is in force, so it is above 1; results are flat
  /// from 2 to 4.
  double reach = 3;
  std::int32_t history_parts = 16;  ///< Newest parts that are looked at, at least 1.
};

/// What may come next.
struct Foresight {
  /// Of each expert, [layers * experts], layer-major, in units of a mean rank's load (the forecast
  /// sums to the number of ranks).
  std::vector<Scenarios> load;
  /// From 0, the load stays where it has gone, to 1, it only visits, and gains go with it.
  double visiting = 0;
};

/// Directions are the leading principal components of the history over all layers and experts: the
/// same text makes all layers change together, so what moves many layers stands out of the noise of
/// a single one. The forecast is the newest part, or the newest part's place along three or four of
/// the leading components with the rest averaged away; whichever would have foretold the history
/// best. All are weighted sums of parts, so that all of this is done on the small matrix of
/// products between parts. The problem must have been checked.
[[nodiscard]] Foresight foresee(const PolicyProblem& problem, const ScenarioOptions& options);

}  // namespace eplb::placement
