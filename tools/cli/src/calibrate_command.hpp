#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb calibrate`: fits a hardware file to a table of measurements.
[[nodiscard]] ExitCode run_calibrate(std::span<const std::string> arguments,
                                     const Streams& streams);

}  // namespace eplb::cli
