#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb score`: policies judged online on recorded traces.
[[nodiscard]] ExitCode run_score(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
