#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb search`: the settings of a configuration's section `search`, judged in the simulator.
ExitCode run_search(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
