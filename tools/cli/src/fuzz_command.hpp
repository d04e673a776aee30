#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb fuzz`: trials of the core in simulated worlds with faults, seed after seed.
[[nodiscard]] ExitCode run_fuzz(std::span<const std::string> arguments, const Streams& streams);

/// `eplb replay`: one of them again, with all that there is to see.
[[nodiscard]] ExitCode run_replay(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
