#include "sim_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "compare_command.hpp"
#include "config_arguments.hpp"
#include "eplb/sim/serving_hazards.hpp"
#include "policies.hpp"
#include "program_report.hpp"
#include "run_progress.hpp"
#include "sim_report.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "sim";

CommandSyntax syntax() {
  std::vector<OptionSpec> options = config_options();
  options.push_back(trace_option());
  std::ranges::move(compare_options(), std::back_inserter(options));
  return {.name = kName,
          .usage = "CONFIG [options]",
          .about =
              "Serves decode steps in the simulator and says what EPLB is worth: throughput, "
              "step times,\nbalancedness, rearrangements, memory. The same configuration gives "
              "the same result.\nOf a program (key program) it says whether it hangs, why, and "
              "which orders could; exit code 1\non a hang. With --compare it says "
              "whether EPLB pays at all, and with which policy and interval.",
          .example =
              "  eplb sim configs/quickstart.yaml\n"
              "  eplb sim configs/gb200-dep32.yaml --set eplb.policy=trtllm --json out.json\n"
              "  eplb sim configs/quickstart.yaml --compare --sensitivity\n"
              "  eplb sim configs/scenarios/hangs/nccl-against-deepep.yaml",
          .positionals = {"CONFIG"},
          .options = std::move(options)};
}

/// The run, put on `timeline` if there is one, and the baseline where one is asked for and differs.
Result<SimReport> simulate_all(const config::ResolvedConfig& config, const std::string& file,
                               sim::Timeline* timeline, const Streams& streams) {
  const sim::Scenario& scenario = config.scenario;
  auto policy = known_policies().make(scenario.eplb.policy);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  const bool compare = scenario.run.compare_off && scenario.eplb.enabled;
  RunProgress progress(streams);
  const auto progress_of = [&](std::string_view name, std::int64_t steps_before) {
    const std::int64_t step_total = scenario.run.steps * (compare ? 2 : 1);
    return [&progress, name, steps_before, step_total](std::int64_t steps_done) {
      progress.show(name, steps_before + steps_done, step_total);
    };
  };
  const auto begin = RunProgress::Clock::now();
  auto result = sim::simulate(scenario, **policy, progress_of("with EPLB", 0), timeline);
  if (!result) {
    return tl::unexpected(result.error());
  }
  SimReport report{.config = config,
                   .config_file = file,
                   .result = *std::move(result),
                   .baseline = std::nullopt,
                   .hazards = sim::serving_hazards(scenario),
                   .wall_s = 0};
  if (compare) {
    auto baseline = sim::simulate(sim::without_eplb(scenario), **policy,
                                  progress_of("without EPLB", scenario.run.steps));
    if (!baseline) {
      return tl::unexpected(baseline.error());
    }
    report.baseline = *std::move(baseline);
  }
  report.wall_s = seconds_since(begin);
  progress.clear();
  return report;
}

Result<ProgramReport> run_program_of(const config::ResolvedConfig& config, const std::string& file,
                                     sim::Timeline* timeline) {
  const auto begin = RunProgress::Clock::now();
  const std::uint64_t seed = config.scenario.run.seed;
  auto result = sim::run_program(*config.program, seed, timeline);
  if (!result) {
    return tl::unexpected(result.error());
  }
  const auto sweep = sim::sweep_program(*config.program, seed);
  if (!sweep) {
    return tl::unexpected(sweep.error());
  }
  return ProgramReport{.config = config,
                       .config_file = file,
                       .result = *std::move(result),
                       .sweep = *sweep,
                       .hazards = sim::find_hazards(*config.program),
                       .wall_s = seconds_since(begin)};
}

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kResourceExhausted:
      return ExitCode::kNotPossibleHere;
    case ErrorCode::kPeerFailed:  // The run's own finding: its group has ended.
      return ExitCode::kFailureFound;
    default:
      return ExitCode::kUsage;
  }
}

}  // namespace

ExitCode run_sim(std::span<const std::string> arguments, const Streams& streams) {
  auto run = begin_config_run(syntax(), arguments, streams);
  if (!run) {
    return run.error();
  }
  const CompareRequest comparison = read_compare_request(run->values);
  if (run->values.report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto refuse = [&](const Error& error) {
    print_error(streams, kName, error.message);
    return exit_code_of(error.code);
  };
  if (comparison.wanted) {
    const auto compared = run_compare(*run, comparison, streams);
    return compared ? ExitCode::kDone : refuse(compared.error());
  }
  sim::Timeline timeline;
  sim::Timeline* const shown = run->trace.wanted() ? &timeline : nullptr;
  const auto write_timeline = [&]() -> Result<void> {
    if (timeline.left_out_count() > 0) {
      print_warning(streams, kName,
                    fmt::format("the timeline has the first {} events; {} more are left out",
                                timeline.event_count(), timeline.left_out_count()));
    }
    return run->trace.write([&](std::ostream& out) { timeline.write(out); });
  };
  if (run->config.program.has_value()) {
    const auto report = run_program_of(run->config, run->file, shown);
    if (!report) {
      return refuse(report.error());
    }
    if (const auto traced = write_timeline(); !traced) {
      return refuse(traced.error());
    }
    if (!run->json.takes_standard_output() && !run->trace.takes_standard_output()) {
      print_program(*report, streams.out);
    }
    if (const auto written = run->json.write(program_json(*report)); !written) {
      return refuse(written.error());
    }
    return report->result.hang.has_value() ? ExitCode::kFailureFound : ExitCode::kDone;
  }
  const auto report = simulate_all(run->config, run->file, shown, streams);
  // A run that has failed is shown up to there.
  if (const auto traced = write_timeline(); !traced) {
    return refuse(traced.error());
  }
  if (!report) {
    return refuse(report.error());
  }
  if (!run->json.takes_standard_output() && !run->trace.takes_standard_output()) {
    print_sim(*report, streams.out);
  }
  const auto written = run->json.write(sim_json(*report));
  return written ? ExitCode::kDone : refuse(written.error());
}

}  // namespace eplb::cli
