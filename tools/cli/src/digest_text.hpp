#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace eplb::cli {

/// A digest as reports, journals and JSON show it: 16 hex digits.
[[nodiscard]] inline std::string digest_text(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace eplb::cli
