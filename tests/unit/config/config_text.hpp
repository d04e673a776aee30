#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/config/config.hpp"

namespace eplb::config::test {

/// Four lines that are a legal scenario: 8 experts on 4 ranks of a shipped machine.
inline constexpr std::string_view kLegal =
    "model: {moe_layers: 2, hidden: 64, moe_intermediate: 32, logical_experts: 8, top_k: 2,"
    " weight_format: bf16}\n"
    "hardware: h200-hgx8\n"
    "parallel: {ranks: 4}\n"
    "serving: {requests_per_rank: 3}\n";

/// The legal scenario with more lines, which start at line 5.
[[nodiscard]] inline std::string legal_with(std::string_view lines) {
  return std::string(kLegal) + std::string(lines);
}

[[nodiscard]] inline LoadOptions options_with(std::vector<std::string> overrides = {}) {
  return {.config_dirs = {EPLB_SOURCE_DIR "/configs"},
          .overrides = std::move(overrides),
          .policy_names = {"default", "deepseek"}};
}

/// For shipped files, which name policies that this library knows nothing of.
[[nodiscard]] inline LoadOptions any_policy_options() {
  LoadOptions options = options_with();
  options.policy_names.clear();
  return options;
}

/// Loads a text as if it stood in the shipped folder under the name t.yaml.
[[nodiscard]] inline LoadResult load(std::string_view text,
                                     std::vector<std::string> overrides = {}) {
  return load_config_text({.text = text, .name = "t.yaml", .directory = EPLB_SOURCE_DIR "/configs"},
                          options_with(std::move(overrides)));
}

/// All diagnostics, a line each; empty if there are none.
[[nodiscard]] inline std::string problems(const LoadResult& result) {
  std::string lines;
  if (!result.has_value()) {
    for (const Diagnostic& diagnostic : result.error()) {
      lines += to_string(diagnostic) + "\n";
    }
  }
  return lines;
}

[[nodiscard]] inline std::string problems(std::string_view text,
                                          std::vector<std::string> overrides = {}) {
  return problems(load(text, std::move(overrides)));
}

}  // namespace eplb::config::test
