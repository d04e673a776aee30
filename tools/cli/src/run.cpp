#include "eplb/cli/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <ostream>
#include <vector>

#include "eplb/cli/command_line.hpp"
#include "eplb/cli/nearest_name.hpp"
#include "eplb/cli/table.hpp"

namespace eplb::cli {
namespace {

void print_overview(std::ostream& out) {
  out << "usage: eplb COMMAND [options]\n\n"
         "Expert Parallel Load Balancer for mixture-of-experts inference.\n\n"
         "commands:\n";
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  for (const Command& command : commands()) {
    table.add({fmt::format("  {}", command.name), std::string(command.summary)});
  }
  table.add({"  help COMMAND", "options of a command, with an example"});
  table.print(out);
  out << "\neplb --version prints the version. Exit codes: 0 done; 1 the run found a failure; "
         "2 usage\nor configuration; 3 not possible on this machine.\n";
}

ExitCode run_command(const std::string& name, std::span<const std::string> arguments,
                     const Streams& streams) {
  const auto command = std::ranges::find(commands(), name, &Command::name);
  if (command != commands().end()) {
    return command->run(arguments, streams);
  }
  std::vector<std::string> names{"help", "--help", "--version"};
  for (const Command& known : commands()) {
    names.emplace_back(known.name);
  }
  const bool is_option = name.starts_with('-');
  print_error(streams, "",
              fmt::format("unknown {} '{}'{}", is_option ? "option" : "command", name,
                          did_you_mean(name, names)));
  streams.err << "See 'eplb --help'.\n";
  return ExitCode::kUsage;
}

ExitCode dispatch(std::span<const std::string> arguments, const Streams& streams) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    print_overview(streams.out);
    return ExitCode::kDone;
  }
  if (arguments.front() == "--version") {
    streams.out << fmt::format("eplb {}\n", version());
    return ExitCode::kDone;
  }
  if (arguments.front() == "help") {
    if (arguments.size() == 1) {
      print_overview(streams.out);
      return ExitCode::kDone;
    }
    const std::vector<std::string> help{"--help"};
    return run_command(arguments[1], help, streams);
  }
  return run_command(arguments.front(), arguments.subspan(1), streams);
}

}  // namespace

std::string_view version() {
  return EPLB_VERSION;
}

int run(std::span<const std::string> arguments, const Streams& streams) {
  ExitCode code = ExitCode::kNotPossibleHere;
  try {
    code = dispatch(arguments, streams);
    streams.out.flush();
    if (!streams.out) {
      print_error(streams, "", "the standard output cannot be written");
      code = ExitCode::kUsage;
    }
  } catch (const std::exception& error) {
    // What no command foresees: memory has run out, or the like.
    print_error(streams, "", error.what());
  }
  return static_cast<int>(code);
}

}  // namespace eplb::cli
