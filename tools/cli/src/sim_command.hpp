#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb sim CONFIG`: serves the scenario in the simulator.
[[nodiscard]] ExitCode run_sim(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
