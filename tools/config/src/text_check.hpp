#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace eplb::config {

struct BadByte {
  std::size_t offset;
  std::string reason;
};

/// The first byte that is not UTF-8 text: control characters (but tab and line ends), overlong
/// forms and surrogates included. A parser then need not cope with binary files.
[[nodiscard]] std::optional<BadByte> find_bad_byte(std::string_view text);

}  // namespace eplb::config
