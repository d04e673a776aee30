#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/sim/calibration/measured_layer.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// A figure of a hardware file that a fit may choose, and between which bounds.
struct FitParameter {
  std::string_view key;
  std::string_view unit;
  double low = 0;
  double high = 0;
  double (*get)(const HardwareOptions& hardware);
  void (*set)(HardwareOptions& hardware, double value);
};

/// The figures of the expert kernel's cost model (docs/cost-model.md).
[[nodiscard]] std::span<const FitParameter> expert_layer_parameters();

/// The hardware whose figures fit `layers` best: least squares in the logarithm of predicted over
/// measured, robust (Huber, beyond 10 %, by reweighting), within the parameters' bounds, by
/// Levenberg-Marquardt from `start`. Layers without counts are left out. kInvalidArgument if there
/// are fewer layers than parameters.
[[nodiscard]] Result<HardwareOptions> fit_expert_layer(std::span<const MeasuredLayer> layers,
                                                       const HardwareOptions& start);

/// A parameter's value, and between which values nine in ten fits of resampled rows lie.
struct FittedFigure {
  const FitParameter* parameter = nullptr;
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Intervals by bootstrap: `samples` fits of as many rows drawn with replacement, from `seed`.
[[nodiscard]] Result<std::vector<FittedFigure>> fit_intervals(std::span<const MeasuredLayer> layers,
                                                              const HardwareOptions& fitted,
                                                              std::int32_t samples,
                                                              std::uint64_t seed);

}  // namespace eplb::sim
