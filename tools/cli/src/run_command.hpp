#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb run`: serves a configuration on real GPUs.
[[nodiscard]] ExitCode run_run(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
