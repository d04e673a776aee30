#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/options.hpp"
#include "run_batch.hpp"

namespace eplb::cli {

/// How far a parameter is moved, as a share of its value.
inline constexpr double kSensitivityShare = 0.2;

/// What becomes of an arm's gain as one parameter of the scenario is another.
struct ParameterEffect {
  std::string parameter;  ///< As `--set` spells it.
  double value = 0;       ///< The scenario's own.
  Gain low;               ///< With the parameter below its value, and
  Gain high;              ///< above it; as far as it may be.
  double swing = 0;       ///< Between the largest and the least of both and the unmoved gain.

  /// Whether the verdict on the arm is `verdict` on both sides.
  [[nodiscard]] bool survives(Verdict verdict) const {
    return verdict_of(low) == verdict && verdict_of(high) == verdict;
  }
};

/// The comparison's best arm with one parameter moved at a time, on the comparison's seeds: the
/// parameters the gain depends on most first. A parameter that the scenario lacks is left out.
[[nodiscard]] Result<std::vector<ParameterEffect>> parameter_effects(
    const sim::Scenario& scenario, const ArmComparison& comparison, const BatchOptions& options);

}  // namespace eplb::cli
