#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb check CONFIG`: the resolved configuration, without running it.
[[nodiscard]] ExitCode run_check(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
