#pragma once

#include <span>
#include <string>
#include <string_view>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// The whole program but for its process: `arguments` are those after the program's name. Never
/// throws; returns an ExitCode as a number.
[[nodiscard]] int run(std::span<const std::string> arguments, const Streams& streams);

/// This program's version, as in the file VERSION.
[[nodiscard]] std::string_view version();

}  // namespace eplb::cli
