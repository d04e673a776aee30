#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace eplb::config {

/// One thing that is wrong in a configuration.
struct Diagnostic {
  std::string file;          ///< As the caller named it; of an override, `--set key=value`.
  std::int32_t line = 1;     ///< From 1; 0 for an override, which has no lines.
  std::int32_t column = 1;   ///< From 1, in bytes; 0 for an override.
  std::string key = {};      ///< Dotted, as in `eplb.window_size`; empty where no key is concerned.
  std::string message = {};  ///< What is wrong, then what is allowed.

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// `file:line:column: error: key: message`; without line and column for an override.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

/// All of them, a line each; no line ends the text.
[[nodiscard]] std::string to_string(const std::vector<Diagnostic>& diagnostics);

}  // namespace eplb::config
