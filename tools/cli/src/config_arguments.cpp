#include "config_arguments.hpp"

#include <filesystem>
#include <ostream>
#include <system_error>

#include "eplb/placement/registry.hpp"

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

std::vector<OptionSpec> config_options() {
  return {{.name = "set",
           .value_name = "KEY=VALUE",
           .help = "another value for a key of the file, as in --set eplb.window_size=100",
           .repeatable = true},
          {.name = "configs",
           .value_name = "DIR",
           .help = "where the names of models and hardware are sought, in models/ and hardware/; "
                   "without it ./configs, then what is installed",
           .repeatable = true}};
}

tl::expected<config::ResolvedConfig, ExitCode> load_config_argument(OptionValues& values,
                                                                    std::string_view command,
                                                                    const Streams& streams) {
  const std::string file = values.required_text("CONFIG");
  if (values.report_problems(streams)) {
    return tl::unexpected(ExitCode::kUsage);
  }
  config::LoadOptions options{
      .config_dirs = config_dirs(values), .overrides = {}, .policy_names = {}};
  for (const std::string& override_text : values.texts("set")) {
    options.overrides.push_back(override_text);
  }
  for (const std::string_view policy : placement::policy_names()) {
    options.policy_names.emplace_back(policy);
  }
  config::LoadResult loaded = config::load_config(file, options);
  if (!loaded) {
    for (const config::Diagnostic& diagnostic : loaded.error()) {
      streams.err << to_string(diagnostic) << '\n';
    }
    return tl::unexpected(ExitCode::kUsage);
  }
  for (const std::string& note : loaded->notes) {
    print_warning(streams, command, note);
  }
  return *std::move(loaded);
}

}  // namespace eplb::cli
