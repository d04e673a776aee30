#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "eplb/config/config.hpp"
#include "sensitivity.hpp"

namespace eplb::cli {

/// All that `eplb sim --compare` reports.
struct ComparisonReport {
  const config::ResolvedConfig& config;
  std::string config_file;
  ArmComparison comparison;
  std::optional<std::vector<ParameterEffect>> sensitivity;  ///< None where nobody asked.
  double wall_s = 0;                                        ///< Of all simulation.
};

/// Whether EPLB pays, by how much, and what that comes from.
[[nodiscard]] std::string verdict_sentence(const ArmComparison& comparison);

/// Whether `verdict` holds whichever parameter is another, and if not, which ones flip it.
[[nodiscard]] std::string sensitivity_sentence(std::span<const ParameterEffect> effects,
                                               Verdict verdict);

/// The stable form for programs, schema "eplb.compare/1": keys in a fixed order, and a function of
/// the configuration and the options alone.
[[nodiscard]] nlohmann::ordered_json comparison_json(const ComparisonReport& report);

/// The same for people.
void print_comparison(const ComparisonReport& report, std::ostream& out);

}  // namespace eplb::cli
