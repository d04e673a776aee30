#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/config/group.hpp"
#include "eplb/core/option_rules.hpp"

namespace eplb::fuzz {

// What must hold for any text as a scenario: it is refused with clear diagnostics in order, or it
// is a scenario that the core accepts and whose canonical text is that same scenario.

/// A line that starts so is an override; to YAML it is a comment.
inline constexpr std::string_view kOverrideMark = "#!";

[[nodiscard]] inline std::vector<std::string> overrides_in(std::string_view text) {
  std::vector<std::string> overrides;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kOverrideMark)) {
      overrides.emplace_back(line.substr(kOverrideMark.size()));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return overrides;
}

[[nodiscard]] inline bool is_clear(const config::Diagnostic& diagnostic) {
  const std::string line = to_string(diagnostic);
  const bool is_printable = std::ranges::none_of(line, [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x20U || byte == 0x7FU;
  });
  const bool has_place = diagnostic.file.starts_with("--set ")
                             ? diagnostic.line == 0 && diagnostic.column == 0
                             : diagnostic.line >= 1 && diagnostic.column >= 1;
  return is_printable && has_place && !diagnostic.message.empty() && line.size() < 16384;
}

/// The diagnostics of the scenario itself stand first, by line and column.
[[nodiscard]] inline bool are_in_order(const std::vector<config::Diagnostic>& diagnostics,
                                       std::string_view name) {
  const auto own_end = std::ranges::find_if(
      diagnostics, [&](const config::Diagnostic& one) { return one.file != name; });
  return std::is_sorted(diagnostics.begin(), own_end,
                        [](const auto& left, const auto& right) {
                          return std::tie(left.line, left.column) <
                                 std::tie(right.line, right.column);
                        }) &&
         std::none_of(own_end, diagnostics.end(),
                      [&](const config::Diagnostic& one) { return one.file == name; });
}

[[nodiscard]] inline bool config_holds(std::string_view text, const std::string& configs_folder) {
  const std::string name = "text";
  config::LoadOptions options{.config_dirs = {configs_folder},
                              .overrides = overrides_in(text),
                              .policy_names = {"default", "deepseek"}};
  const auto first =
      config::load_config_text({.text = text, .name = name, .directory = configs_folder}, options);
  if (!first.has_value()) {
    return !first.error().empty() && are_in_order(first.error(), name) &&
           std::ranges::all_of(first.error(), is_clear);
  }
  if (first->program.has_value()) {
    if (!sim::problems_of(*first->program).empty()) {
      return false;
    }
    const auto again = config::load_config_text(
        {.text = first->canonical_yaml, .name = name, .directory = configs_folder}, options);
    return again.has_value() && again->canonical_yaml == first->canonical_yaml &&
           again->digest == first->digest;
  }
  const Shape shape =
      shape_of(first->scenario.model, first->scenario.parallel, first->scenario.eplb);
  const EplbGroup group = config::group_of(first->scenario);
  if (!validate(shape).has_value() || !validate(first->scenario.eplb, group).has_value()) {
    return false;
  }
  if (!options.overrides.empty()) {
    return true;  // Their paths are relative to another folder than the canonical text's.
  }
  const auto second = config::load_config_text(
      {.text = first->canonical_yaml, .name = name, .directory = configs_folder}, options);
  return second.has_value() && second->canonical_yaml == first->canonical_yaml &&
         second->digest == first->digest;
}

}  // namespace eplb::fuzz
