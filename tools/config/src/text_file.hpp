#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace eplb::config {

/// The whole content of a file or pipe of at most kConfigBytesMax bytes, or why it is not to be
/// had.
[[nodiscard]] tl::expected<std::string, std::string> read_text(const std::filesystem::path& path);

}  // namespace eplb::config
