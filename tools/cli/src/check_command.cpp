#include "check_command.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "config_arguments.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/core/options.hpp"
#include "yaml_to_json.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "check";

CommandSyntax syntax() {
  return {.name = kName,
          .usage = "CONFIG [options]",
          .about =
              "Checks a configuration and prints it as it is understood: defaults filled in, "
              "model and\nhardware expanded. What it prints is a configuration itself.",
          .example =
              "  eplb check configs/gb200-dep32.yaml\n"
              "  eplb check configs/quickstart.yaml --set parallel.ranks=16",
          .positionals = {"CONFIG"},
          .options = config_options()};
}

/// What follows from a configuration, as comments above it.
void print_resolved(const config::ResolvedConfig& config, std::ostream& out) {
  const sim::Scenario& scenario = config.scenario;
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  const auto expert_bytes = static_cast<double>(bytes_per_expert(scenario.model));
  out << fmt::format("# config {:016x}\n", config.digest);
  out << fmt::format("# {} slots, {} a rank; an expert is {:.2f} MB; weights {:.3f} GB a rank\n",
                     shape.slot_count(), shape.slots_per_rank(), expert_bytes * 1e-6,
                     expert_bytes * shape.slots_per_rank() * shape.layer_count * 1e-9);
  out << config.canonical_yaml;
}

nlohmann::ordered_json check_json(const config::ResolvedConfig& config) {
  nlohmann::ordered_json json;
  json["schema"] = "eplb.check/1";
  json["version"] = std::string(version());
  json["config_digest"] = fmt::format("{:016x}", config.digest);
  json["notes"] = config.notes;
  json["config"] = yaml_to_json(config.canonical_yaml);
  return json;
}

}  // namespace

ExitCode run_check(std::span<const std::string> arguments, const Streams& streams) {
  auto run = begin_config_run(syntax(), arguments, streams);
  if (!run) {
    return run.error();
  }
  if (!run->json.takes_standard_output()) {
    print_resolved(run->config, streams.out);
  }
  if (const auto written = run->json.write(check_json(run->config)); !written) {
    print_error(streams, kName, written.error().message);
    return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace eplb::cli
