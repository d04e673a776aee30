#pragma once

#include <span>
#include <string>

#include "config_arguments.hpp"

namespace eplb::cli {

/// The part of `eplb run` that needs CUDA. `arguments` are the command's own, for the processes
/// that it starts.
[[nodiscard]] ExitCode run_on_gpus(ConfigRun& run, std::span<const std::string> arguments,
                                   const Streams& streams);

}  // namespace eplb::cli
