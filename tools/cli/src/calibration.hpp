#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eplb/config/hardware_file.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/calibration/fit.hpp"
#include "eplb/sim/calibration/measured_layer.hpp"

namespace eplb::cli {

/// Errors of a set of rows, by the name of the set.
struct NamedErrors {
  std::string name;
  sim::PredictionErrors errors;
};

/// A fit of one device's balanced rows, and how it does on all others.
struct Calibration {
  std::vector<sim::FittedFigure> figures;
  sim::HardwareOptions fitted;        ///< Figures rounded, as the file will have them.
  sim::PredictionErrors balanced;     ///< Of the rows that the fit has seen.
  std::vector<NamedErrors> held_out;  ///< By distribution, then by distribution and ranks.
  /// Balanced rows of each number of ranks, by a fit that has seen the others only.
  std::vector<NamedErrors> left_out_ranks;
  /// All rows of each other device, by that device's own peaks and this fit's figures.
  std::vector<NamedErrors> other_devices;
};

struct CalibrationRequest {
  std::vector<sim::MeasuredLayer> layers;  ///< Of all devices.
  std::string device;                      ///< Whose rows are fitted, as the table names it.
  sim::HardwareOptions start;
  /// Other devices of the table, as it names them, with their peaks.
  std::vector<std::pair<std::string, sim::HardwareOptions>> others;
  std::int32_t bootstrap_samples = 200;
};

/// kInvalidArgument if there are too few balanced rows with counts.
[[nodiscard]] Result<Calibration> calibrate(const CalibrationRequest& request);

}  // namespace eplb::cli
