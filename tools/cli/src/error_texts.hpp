#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "eplb/sim/calibration/measured_layer.hpp"

namespace eplb::cli {

/// A share for people: "4.1 %".
[[nodiscard]] std::string percent(double share);

/// The same with its sign: "+4.1 %".
[[nodiscard]] std::string signed_percent(double share);

/// `{rows, mape, bias, worst}`.
[[nodiscard]] nlohmann::ordered_json errors_json(const sim::PredictionErrors& errors);

}  // namespace eplb::cli
