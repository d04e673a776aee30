#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::config {

/// `text` with every control character as \xNN, as YAML reads it in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);

/// Text fit for a terminal: control characters escaped, cut after some 60 bytes.
[[nodiscard]] std::string printable(std::string_view text);

/// `a, b, c`.
[[nodiscard]] std::string join(std::span<const std::string_view> words);

/// `unknown <what>, did you mean x?`, or what is allowed where nothing is near.
[[nodiscard]] std::string unknown(std::string_view what, std::string_view word,
                                  std::span<const std::string_view> candidates);

/// Views of strings that outlive the result.
[[nodiscard]] std::vector<std::string_view> views(std::span<const std::string> words);

/// The shortest text that reads back as `value`; whole numbers without an exponent.
[[nodiscard]] std::string number_text(double value);

}  // namespace eplb::config
