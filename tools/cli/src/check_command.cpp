#include "check_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "config_arguments.hpp"
#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/config/group.hpp"
#include "eplb/core/communicator.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/policy_costs.hpp"
#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/serving_hazards.hpp"
#include "program_report.hpp"
#include "yaml_to_json.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "check";

/// States that a search of all orders may visit: some seconds, and some hundred MB of memory.
constexpr std::int64_t kStatesMax = 200'000;

CommandSyntax syntax() {
  std::vector<OptionSpec> options = config_options();
  options.push_back({.name = "exhaustive",
                     .value_name = "",
                     .help = "of a program of up to 4 ranks: try every order of its operations"});
  return {.name = kName,
          .usage = "CONFIG [options]",
          .about =
              "Checks a configuration and prints it as it is understood: defaults filled in, "
              "model and\nhardware expanded. What it prints is a configuration itself. Of a "
              "program it also says which\norders could hang.",
          .example =
              "  eplb check configs/gb200-dep32.yaml\n"
              "  eplb check configs/quickstart.yaml --set parallel.ranks=16",
          .positionals = {"CONFIG"},
          .options = std::move(options)};
}

/// What a trigger's keys come to on the configuration's machine.
struct ResolvedTrigger {
  std::int32_t horizon_steps = 0;
  // What an expert of the target that migrates costs, at its rank's busiest:
  double wire_us = 0;          ///< while it is on its way,
  double commit_us = 0;        ///< and at its commit.
  double commit_start_us = 0;  ///< What a layer's commit takes on top.
};

ResolvedTrigger resolved_trigger(const sim::Scenario& scenario) {
  const Topology topology = sim::topology_of(scenario.hardware, scenario.parallel).value();
  const MigrationCost cost = sim::policy_costs(scenario, topology).migration;
  const double us_per_cost =
      scenario.eplb.trigger->price * 1e-3 * static_cast<double>(bytes_per_expert(scenario.model));
  return {
      .horizon_steps = scenario.eplb.trigger->horizon_steps.value_or(scenario.eplb.step_interval),
      .wire_us = us_per_cost * cost.wire_ns_per_byte,
      .commit_us = us_per_cost * cost.commit_ns_per_byte,
      .commit_start_us = scenario.eplb.trigger->price * 1e-3 * cost.commit_start_ns};
}

/// What follows from a configuration and is not in it.
struct Consequences {
  Shape shape;                  ///< Of the pipeline stage with the most layers.
  double expert_gigabytes = 0;  ///< An expert of the target.
  std::int32_t stages_without_layers = 0;
  std::optional<Communicator> communicator = std::nullopt;  ///< None without EPLB, as the others.
  std::optional<std::int32_t> landing_rows = std::nullopt;
  std::optional<std::int32_t> nccl_cta_cap = std::nullopt;
  std::optional<ResolvedTrigger> trigger = std::nullopt;  ///< None where there is none, too.
  std::vector<sim::Hazard> hazards = {};
};

Consequences consequences_of(const sim::Scenario& scenario) {
  const EplbGroup group = config::group_of(scenario);
  const std::int32_t stages = scenario.parallel.pipeline_stages;
  Consequences follow{
      .shape = shape_of(scenario.model, scenario.parallel, scenario.eplb),
      .expert_gigabytes = static_cast<double>(bytes_per_expert(scenario.model)) * 1e-9};
  // Layers are shared as evenly as they can be.
  follow.stages_without_layers = std::max(0, stages - follow.shape.layer_count);
  follow.shape.layer_count = (follow.shape.layer_count + stages - 1) / stages;
  if (scenario.eplb.enabled) {
    follow.communicator = resolve_communicator(scenario.eplb, group);
    follow.landing_rows = scenario.eplb.landing_rows.value_or(default_landing_rows(follow.shape));
    follow.nccl_cta_cap = nccl_cta_cap(scenario.eplb, group);
    if (scenario.eplb.trigger.has_value()) {
      follow.trigger = resolved_trigger(scenario);
    }
    follow.hazards = sim::serving_hazards(scenario);
  }
  return follow;
}

/// The configuration, with what follows from it as comments above it.
void print_resolved(const config::ResolvedConfig& config, const Consequences& follow,
                    std::ostream& out) {
  const Shape& shape = follow.shape;
  out << fmt::format("# config {}\n", digest_text(config.digest));
  out << fmt::format("# {} slots, {} a rank; an expert is {:.2f} MB; weights {:.3f} GB a rank\n",
                     shape.slot_count(), shape.slots_per_rank(), follow.expert_gigabytes * 1e3,
                     follow.expert_gigabytes * shape.slots_per_rank() * shape.layer_count);
  if (follow.stages_without_layers > 0) {
    out << fmt::format("# {} of {} pipeline stages have no MoE layers\n",
                       follow.stages_without_layers, config.scenario.parallel.pipeline_stages);
  }
  if (follow.communicator.has_value()) {
    out << fmt::format("# communicator {}; {} landing rows a rank, {:.3f} GB\n",
                       to_string(*follow.communicator), *follow.landing_rows,
                       follow.expert_gigabytes * *follow.landing_rows);
  }
  if (follow.nccl_cta_cap.has_value()) {
    out << fmt::format("# NCCL_MAX_CTAS={}, or NCCL and the engine's kernels can lock up\n",
                       *follow.nccl_cta_cap);
  }
  if (follow.trigger.has_value()) {
    out << fmt::format(
        "# trigger: gains are taken to last {} steps; an expert that moves costs {:.2f} us on the "
        "way and {:.2f} us at its commit, a layer {:.2f} us\n",
        follow.trigger->horizon_steps, follow.trigger->wire_us, follow.trigger->commit_us,
        follow.trigger->commit_start_us);
  }
  print_hazards(follow.hazards, "# ", out);
  out << config.canonical_yaml;
}

/// The value, or null where there is none.
template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json check_json(const config::ResolvedConfig& config,
                                  const Consequences& follow) {
  nlohmann::ordered_json json;
  json["schema"] = "eplb.check/1";
  json["version"] = std::string(version());
  json["config_digest"] = digest_text(config.digest);
  json["notes"] = config.notes;
  json["communicator"] = nullptr;
  if (follow.communicator.has_value()) {
    json["communicator"] = to_string(*follow.communicator);
  }
  json["landing_rows"] = or_null(follow.landing_rows);
  json["nccl_max_ctas"] = or_null(follow.nccl_cta_cap);
  json["trigger"] = nullptr;
  if (follow.trigger.has_value()) {
    json["trigger"] = {{"horizon_steps", follow.trigger->horizon_steps},
                       {"wire_us_per_expert", follow.trigger->wire_us},
                       {"commit_us_per_expert", follow.trigger->commit_us},
                       {"commit_us_per_layer", follow.trigger->commit_start_us}};
  }
  json["hazards"] = hazards_json(follow.hazards);
  json["config"] = yaml_to_json(config.canonical_yaml);
  return json;
}

/// A program as it is understood, with its hazards as comments above it.
ExitCode check_program(const ConfigRun& run, const Streams& streams, OutputFile& json_output) {
  const sim::Program& program = *run.config.program;
  const std::vector<sim::Hazard> hazards = sim::find_hazards(program);
  nlohmann::ordered_json json;
  json["schema"] = "eplb.check/1";
  json["version"] = std::string(version());
  json["config_digest"] = digest_text(run.config.digest);
  json["notes"] = run.config.notes;
  json["hazards"] = hazards_json(hazards);
  std::optional<sim::Exploration> exploration;
  if (run.values.has("exhaustive")) {
    auto explored = sim::explore_program(program, kStatesMax);
    if (!explored) {
      print_error(streams, kName, explored.error().message);
      return ExitCode::kUsage;
    }
    exploration = *std::move(explored);
    json["exhaustive"] = {{"states", exploration->state_count},
                          {"complete", exploration->is_complete},
                          {"can_hang", exploration->can_hang},
                          {"explanation", waits_json(exploration->explanation)}};
  }
  json["config"] = yaml_to_json(run.config.canonical_yaml);
  if (!json_output.takes_standard_output()) {
    streams.out << fmt::format("# config {}\n", digest_text(run.config.digest));
    if (exploration.has_value()) {
      streams.out << fmt::format(
          "# {} states: {}\n", exploration->state_count,
          exploration->can_hang
              ? "some order hangs"
              : (exploration->is_complete ? "no order hangs" : "no hang in those, there are more"));
      print_waits(exploration->explanation, "#   ", streams.out);
    }
    print_hazards(hazards, "# ", streams.out);
    streams.out << run.config.canonical_yaml;
  }
  if (const auto written = json_output.write(json); !written) {
    print_error(streams, kName, written.error().message);
    return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace

ExitCode run_check(std::span<const std::string> arguments, const Streams& streams) {
  auto run = begin_config_run(syntax(), arguments, streams);
  if (!run) {
    return run.error();
  }
  if (run->values.has("exhaustive") && !run->config.program.has_value()) {
    print_error(streams, kName, "--exhaustive is for a program, and this is a serving run");
    return ExitCode::kUsage;
  }
  if (run->config.program.has_value()) {
    return check_program(*run, streams, run->json);
  }
  const Consequences follow = consequences_of(run->config.scenario);
  if (!run->json.takes_standard_output()) {
    print_resolved(run->config, follow, streams.out);
  }
  if (const auto written = run->json.write(check_json(run->config, follow)); !written) {
    print_error(streams, kName, written.error().message);
    return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace eplb::cli
