#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/result.hpp"

namespace eplb::formats {

/// Tokens that each logical expert got, in windows of serving, oldest first.
struct Loads {
  std::vector<RealLoadMatrix> windows;  ///< At least one; each [layers, experts], all of one shape.
};

/// Reads SGLang's `{"logical_count": ...}`, [layers][experts] (one window) or
/// [windows][layers][experts]; other keys are ignored. Counts are finite, not negative, and sum to
/// less than 2^63 over the file.
///
/// kInvalidArgument, or kResourceExhausted past a limit of limits.hpp, with a message that starts
/// with `source_name`, line and column: "loads.json:1:19: error: logical_count[0][2]: must ...".
[[nodiscard]] Result<Loads> parse_loads(std::string_view text, std::string_view source_name);

/// As parse_loads, from a file or a pipe.
[[nodiscard]] Result<Loads> read_loads(const std::filesystem::path& path);

}  // namespace eplb::formats
