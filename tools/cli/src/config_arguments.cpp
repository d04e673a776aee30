#include "config_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "eplb/cli/option_values.hpp"
#include "policies.hpp"

namespace eplb::cli {
namespace {

/// Where an installed program's files are: share/eplb/configs beside the folder of the program.
std::filesystem::path installed_configs() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path() / EPLB_CONFIGS_FROM_BIN;
}

std::vector<std::filesystem::path> config_dirs(const OptionValues& values) {
  std::vector<std::filesystem::path> dirs;
  for (const std::string& dir : values.texts("configs")) {
    dirs.emplace_back(dir);
  }
  if (dirs.empty()) {
    dirs = {"configs", installed_configs()};
  }
  return dirs;
}

}  // namespace

config::LoadOptions load_options(const OptionValues& values) {
  config::LoadOptions options{
      .config_dirs = config_dirs(values), .overrides = {}, .policy_names = {}};
  for (const std::string& override_text : values.texts("set")) {
    options.overrides.push_back(override_text);
  }
  options.policy_names = known_policies().names();
  options.policy_problem = [](const std::string& policy) {
    const auto made = known_policies().make(policy);
    return made ? std::string() : made.error().message;
  };
  return options;
}

OptionSpec configs_option() {
  return {.name = "configs",
          .value_name = "DIR",
          .help =
              "where the names of models and hardware are sought, in models/ and hardware/; "
              "without it ./configs, then what is installed",
          .repeatable = true};
}

std::vector<OptionSpec> config_options() {
  return {{.name = "set",
           .value_name = "KEY=VALUE",
           .help = "another value for a key of the file, as in --set eplb.window_size=100",
           .repeatable = true},
          configs_option(),
          json_option()};
}

OptionSpec trace_option() {
  return {.name = "trace",
          .value_name = "FILE",
          .help =
              "where to write what happened as a timeline, for ui.perfetto.dev or "
              "chrome://tracing"};
}

tl::expected<ConfigRun, ExitCode> begin_config_run(const CommandSyntax& syntax,
                                                   std::span<const std::string> arguments,
                                                   const Streams& streams) {
  auto values = parse_command_line(syntax, arguments, streams);
  if (!values) {
    return tl::unexpected(values.error());
  }
  const std::string file = values->required_text("CONFIG");
  const std::optional<std::string> json_target = values->text("json");
  const bool has_trace = std::ranges::count(syntax.options, "trace", &OptionSpec::name) > 0;
  const std::optional<std::string> trace_target =
      has_trace ? values->text("trace") : std::optional<std::string>();
  if (values->report_problems(streams)) {
    return tl::unexpected(ExitCode::kUsage);
  }
  config::LoadResult loaded = config::load_config(file, load_options(*values));
  if (!loaded) {
    streams.err << to_string(loaded.error()) << '\n';
    return tl::unexpected(ExitCode::kUsage);
  }
  for (const std::string& note : loaded->notes) {
    print_warning(streams, syntax.name, note);
  }
  auto json = OutputFile::open(json_target, streams.out);
  if (!json) {
    print_error(streams, syntax.name, json.error().message);
    return tl::unexpected(ExitCode::kUsage);
  }
  auto trace = OutputFile::open(trace_target, streams.out);
  if (!trace) {
    print_error(streams, syntax.name, trace.error().message);
    return tl::unexpected(ExitCode::kUsage);
  }
  return ConfigRun{.file = file,
                   .config = *std::move(loaded),
                   .json = *std::move(json),
                   .trace = *std::move(trace),
                   .values = *std::move(values)};
}

}  // namespace eplb::cli
