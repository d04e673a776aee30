#include "error_texts.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace eplb::cli {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

nlohmann::ordered_json errors_json(const sim::PredictionErrors& errors) {
  return {{"rows", errors.rows},
          {"mape", errors.mean_absolute},
          {"bias", errors.bias},
          {"worst", errors.worst}};
}

}  // namespace eplb::cli
