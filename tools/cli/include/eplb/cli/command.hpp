#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace eplb::cli {

/// What the program tells its caller. Scripts rely on the numbers.
enum class ExitCode : std::uint8_t {
  kDone = 0,
  kFailureFound = 1,     ///< The run worked and found a failure: a hang, a bar missed.
  kUsage = 2,            ///< The command line, a file or a configuration is wrong.
  kNotPossibleHere = 3,  ///< This machine lacks what it takes: a GPU, memory.
};

/// Where a command writes: results to `out`; messages, warnings and progress to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  ///< Somebody watches, so that progress may be shown.
};

/// One command of the program. To add one, write `x_command.cpp` with its `run`, and a line in the
/// table of commands.cpp.
struct Command {
  std::string_view name;
  std::string_view summary;  ///< One line for `eplb --help`.
  /// Takes what follows the command's name; `--help` among it prints the command's help.
  ExitCode (*run)(std::span<const std::string> arguments, const Streams& streams);
};

/// All commands, in the order of `eplb --help`.
[[nodiscard]] std::span<const Command> commands();

}  // namespace eplb::cli
