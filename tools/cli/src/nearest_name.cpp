#include "eplb/cli/nearest_name.hpp"

#include <fmt/core.h>

#include <vector>

#include "eplb/config/nearest.hpp"

namespace eplb::cli {

std::string did_you_mean(std::string_view given, std::span<const std::string> names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const auto meant = config::nearest(given, candidates);
  return meant.has_value() ? fmt::format("; did you mean '{}'?", *meant) : "";
}

}  // namespace eplb::cli
