#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibration.hpp"
#include "eplb/config/hardware_file.hpp"

namespace eplb::cli {

/// A fit and the hardware file that has its figures.
struct CalibrationReport {
  config::HardwareFile file;
  std::string device;  ///< As the table names it.
  Calibration calibration;
};

/// Where the measurements of a fit are from.
struct MeasurementOrigin {
  std::string source;
  std::string machine;  ///< Empty: nobody said.
  std::string date;     ///< Of the fit.
};

/// What a hardware file says of its fit.
[[nodiscard]] std::string calibration_summary(const CalibrationReport& report,
                                              const MeasurementOrigin& origin);

void print_calibration(const CalibrationReport& report, std::ostream& out);

[[nodiscard]] nlohmann::ordered_json calibrations_json(
    const std::vector<CalibrationReport>& reports);

}  // namespace eplb::cli
