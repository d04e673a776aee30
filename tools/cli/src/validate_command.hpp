#pragma once

#include <span>
#include <string>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// `eplb validate`: published figures and measured tables against predictions.
[[nodiscard]] ExitCode run_validate(std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
