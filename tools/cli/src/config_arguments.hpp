#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "eplb/cli/command.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/cli/option_values.hpp"
#include "eplb/config/config.hpp"

namespace eplb::cli {

/// The options of every command that takes a CONFIG: where names are sought, what is overridden.
[[nodiscard]] std::vector<OptionSpec> config_options();

/// Reads the CONFIG that `values` name and prints its notes. The failing branch is what the command
/// returns at once; all that is wrong is on `err` then.
[[nodiscard]] tl::expected<config::ResolvedConfig, ExitCode> load_config_argument(
    OptionValues& values, std::string_view command, const Streams& streams);

}  // namespace eplb::cli
