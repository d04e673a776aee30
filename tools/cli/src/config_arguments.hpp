#pragma once

#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "eplb/cli/command.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/cli/option_values.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/config/config.hpp"

namespace eplb::cli {

/// The options of every command that takes a CONFIG: where names are sought, what is overridden,
/// where the result goes.
[[nodiscard]] std::vector<OptionSpec> config_options();

/// The option that says where names are sought, and the loading that obeys it and `set`.
[[nodiscard]] OptionSpec configs_option();
[[nodiscard]] config::LoadOptions load_options(const OptionValues& values);

/// The option of a command that can show what happened: where the timeline goes.
[[nodiscard]] OptionSpec trace_option();

/// What every command that takes a CONFIG begins with.
struct ConfigRun {
  std::string file;  ///< The CONFIG, as it was named.
  config::ResolvedConfig config;
  OutputFile json;
  OutputFile trace;     ///< Not wanted of a command without the option.
  OptionValues values;  ///< Options of the command's own.
};

/// Reads the command line and the CONFIG on it, and prints the configuration's notes. The failing
/// branch is what the command returns at once; all that is wrong is on `err` then.
[[nodiscard]] tl::expected<ConfigRun, ExitCode> begin_config_run(
    const CommandSyntax& syntax, std::span<const std::string> arguments, const Streams& streams);

}  // namespace eplb::cli
