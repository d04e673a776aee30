#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "eplb/cli/command.hpp"
#include "eplb/cli/option_values.hpp"

namespace eplb::cli {

struct OptionSpec {
  std::string name;        ///< Without the dashes.
  std::string value_name;  ///< What stands for its value in the help; empty for a bare switch.
  std::string help;
  bool repeatable = false;
};

/// What a command takes, and how its help reads. `--help` is understood by all and not listed.
struct CommandSyntax {
  std::string_view name;
  std::string_view usage;                ///< The line after "eplb NAME".
  std::string_view about;                ///< A paragraph or more.
  std::string_view example;              ///< Command lines that work, one a line.
  std::vector<std::string> positionals;  ///< Names in capitals, as in "CONFIG".
  std::vector<OptionSpec> options;
};

/// The option that every command takes: where to write its result for programs.
[[nodiscard]] OptionSpec json_option();

/// Reads a command's arguments. The failing branch is what the command returns at once: kDone when
/// help was asked for and printed, kUsage when the line was wrong and the reason is on `err`.
[[nodiscard]] tl::expected<OptionValues, ExitCode> parse_command_line(
    const CommandSyntax& syntax, std::span<const std::string> arguments, const Streams& streams);

/// Prints "eplb COMMAND: error: MESSAGE"; `command` may be empty.
void print_error(const Streams& streams, std::string_view command, std::string_view message);

/// As print_error, for what a person should know and the command can do with.
void print_warning(const Streams& streams, std::string_view command, std::string_view message);

}  // namespace eplb::cli
