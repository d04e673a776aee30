#include "sim_command.hpp"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "config_arguments.hpp"
#include "eplb/cli/progress.hpp"
#include "eplb/placement/registry.hpp"
#include "eplb/sim/serving_hazards.hpp"
#include "program_report.hpp"
#include "sim_report.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "sim";

CommandSyntax syntax() {
  std::vector<OptionSpec> options = config_options();
  options.push_back(trace_option());
  return {.name = kName,
          .usage = "CONFIG [options]",
          .about =
              "Serves decode steps in the simulator and says what EPLB is worth: throughput, "
              "step times,\nbalancedness, rearrangements, memory. The same configuration gives "
              "the same result.\nOf a program (key program) it says whether it hangs, why, and "
              "which orders could; exit code 1\non a hang.",
          .example =
              "  eplb sim configs/quickstart.yaml\n"
              "  eplb sim configs/gb200-dep32.yaml --set eplb.policy=trtllm --json out.json\n"
              "  eplb sim configs/scenarios/hangs/nccl-against-deepep.yaml",
          .positionals = {"CONFIG"},
          .options = std::move(options)};
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Shows how far all runs of a command are, and how long the rest will take at the pace so far.
class RunProgress {
 public:
  RunProgress(const Streams& streams, std::int64_t step_total)
      : line_(streams), step_total_(step_total), begin_(Clock::now()) {}

  sim::Progress of_run(std::string_view name, std::int64_t steps_before) {
    return [this, name = std::string(name), steps_before](std::int64_t steps_done) {
      const auto done = static_cast<double>(steps_before + steps_done);
      const double elapsed_s = seconds_since(begin_);
      const double left_s = elapsed_s * (static_cast<double>(step_total_) / done - 1);
      if (elapsed_s - shown_s_ >= 0.1) {
        shown_s_ = elapsed_s;
        line_.show(fmt::format("{}: {:.0f} %, {:.0f} s left", name,
                               100 * done / static_cast<double>(step_total_), left_s));
      }
    };
  }

  void clear() { line_.clear(); }

 private:
  Progress line_;
  std::int64_t step_total_;
  Clock::time_point begin_;
  double shown_s_ = 0;
};

/// The run, put on `timeline` if there is one, and the baseline where one is asked for and differs.
Result<SimReport> simulate_all(const config::ResolvedConfig& config, const std::string& file,
                               sim::Timeline* timeline, const Streams& streams) {
  const sim::Scenario& scenario = config.scenario;
  auto policy = placement::make_policy(scenario.eplb.policy);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  const bool compare = scenario.run.compare_off && scenario.eplb.enabled;
  RunProgress progress(streams, scenario.run.steps * (compare ? 2 : 1));
  const auto begin = Clock::now();
  auto result = sim::simulate(scenario, **policy, progress.of_run("with EPLB", 0), timeline);
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
                                  progress.of_run("without EPLB", scenario.run.steps));
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
  const auto begin = Clock::now();
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

}  // namespace

ExitCode run_sim(std::span<const std::string> arguments, const Streams& streams) {
  auto run = begin_config_run(syntax(), arguments, streams);
  if (!run) {
    return run.error();
  }
  const auto refuse = [&](const Error& error) {
    print_error(streams, kName, error.message);
    switch (error.code) {
      case ErrorCode::kResourceExhausted:
        return ExitCode::kNotPossibleHere;
      case ErrorCode::kPeerFailed:  // The run's own finding: its group has ended.
        return ExitCode::kFailureFound;
      default:
        return ExitCode::kUsage;
    }
  };
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
