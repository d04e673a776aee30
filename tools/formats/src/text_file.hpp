#pragma once

#include <filesystem>
#include <string>

#include "eplb/core/result.hpp"

namespace eplb::formats {

/// All bytes of a file or a pipe. kInvalidArgument if it cannot be read, kResourceExhausted if it
/// is longer than kFileBytesMax.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path);

}  // namespace eplb::formats
