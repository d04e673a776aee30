#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb plan`: one placement from recorded loads, with its bound, regret and moves.
[[nodiscard]] ExitCode run_plan(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
