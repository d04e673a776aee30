#include "gpu_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/cli/run.hpp"
#include "eplb/gpu/device_count.hpp"
#include "eplb/gpu/program/run_program.hpp"
#include "eplb/group/local_launch.hpp"
#include "eplb/group/membership.hpp"
#include "eplb/group/process_place.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/program/program_run.hpp"
#include "gpu_program.hpp"
#include "gpu_program_report.hpp"
#include "gpu_run_report.hpp"
#include "gpu_scenario.hpp"
#include "policies.hpp"
#include "run_progress.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "run";

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidConfig:
      return ExitCode::kUsage;
    case ErrorCode::kUnsupported:
    case ErrorCode::kResourceExhausted:
      return ExitCode::kNotPossibleHere;
    default:
      return ExitCode::kFailureFound;
  }
}

gpu::Verification read_verification(OptionValues& values) {
  const std::string how = values.text("verify").value_or("sampled");
  if (how == "served") {
    return gpu::Verification::kServed;
  }
  if (how == "all") {
    return gpu::Verification::kEveryByte;
  }
  if (how != "sampled") {
    values.note_problem("--verify: is served, sampled or all, not '" + how + "'");
  }
  return gpu::Verification::kSampled;
}

/// The processes of the run, of `ranks_per_gpu` ranks each.
struct Processes {
  std::int32_t count = 1;
  std::int32_t ranks_each = 1;

  [[nodiscard]] std::vector<RankId> ranks_of(std::int32_t process) const {
    std::vector<RankId> ranks;
    ranks.reserve(static_cast<std::size_t>(ranks_each));
    for (std::int32_t rank = 0; rank < ranks_each; ++rank) {
      ranks.push_back(RankId{process * ranks_each + rank});
    }
    return ranks;
  }
};

Processes processes_of(const sim::Scenario& scenario) {
  return {.count = scenario.parallel.ranks / scenario.parallel.ranks_per_gpu,
          .ranks_each = scenario.parallel.ranks_per_gpu};
}

Result<std::unique_ptr<group::Membership>> join(const std::optional<group::ProcessPlace>& place,
                                                const config::ResolvedConfig& config,
                                                const gpu::ServeOptions& options) {
  const auto sums = group::SumSizes::of(options.shape, options.eplb.window_parts);
  const Processes processes = processes_of(config.scenario);
  if (!place) {
    return group::Membership::alone(options.shape.rank_count, sums);
  }
  if (place->process_count != processes.count) {
    return fail(ErrorCode::kInvalidConfig,
                fmt::format("parallel.ranks: {} ranks with {} a GPU are {} processes, and {} has "
                            "started {}",
                            options.shape.rank_count, processes.ranks_each, processes.count,
                            group::to_string(place->launcher), place->process_count));
  }
  group::RendezvousOptions rendezvous;
  rendezvous.host = place->rendezvous_host;
  rendezvous.port = place->rendezvous_port;
  rendezvous.run_id = place->run_id;
  rendezvous.rank_count = options.shape.rank_count;
  rendezvous.ranks = processes.ranks_of(place->process);
  rendezvous.version = std::string(version());
  rendezvous.settings_digest = config.digest;
  return group::Membership::join(rendezvous, sums);
}

/// The process that tells people how the run was: the first, or the second if the first is lost.
std::int32_t reporter(const Failure& stop, const Processes& processes) {
  const bool first_is_lost =
      stop.cause == FailureCause::kRankLost && stop.rank.value < processes.ranks_each;
  return first_is_lost && processes.count > 1 ? 1 : 0;
}

/// Whether the ranks of one GPU fit it; the bytes if they do not.
Result<void> check_memory(const gpu::ServeOptions& options, std::int32_t ranks_each, int device) {
  const std::int64_t needed = gpu::rank_bytes(options) * ranks_each;
  const std::int64_t free = gpu::free_device_bytes(device);
  if (needed > free) {
    return fail(ErrorCode::kResourceExhausted,
                fmt::format("{} ranks on a GPU take {} bytes of weights and landing rows, and {} "
                            "are free",
                            ranks_each, needed, free));
  }
  return {};
}

ExitCode launch(const Processes& processes, std::span<const std::string> arguments,
                const Streams& streams) {
  group::LaunchOptions options;
  options.process_count = processes.count;
  options.command = {"/proc/self/exe", std::string(kName)};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.output = nullptr;
  options.errors = nullptr;
  const auto ended = group::launch_local(options);
  if (!ended) {
    print_error(streams, kName, ended.error().message);
    return exit_code_of(ended.error().code);
  }
  if (ended->first_failed < 0) {
    return ended->interrupted_by == 0 ? ExitCode::kDone : ExitCode::kFailureFound;
  }
  const group::ProcessEnd& first = ended->processes[static_cast<std::size_t>(ended->first_failed)];
  if (first.signal != 0) {
    print_error(streams, kName,
                fmt::format("process {} was ended by signal {}", first.process, first.signal));
    return ExitCode::kFailureFound;
  }
  return static_cast<ExitCode>(first.exit_status);
}

/// Serves as one process of the run.
Result<gpu::ServeResult> serve(const sim::Scenario& scenario, const gpu::ServeOptions& options,
                               const Topology& topology, group::Membership& membership,
                               std::int32_t process, int device, RunProgress& progress) {
  auto policy = known_policies().make(scenario.eplb.policy);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  const Processes processes = processes_of(scenario);
  std::vector<gpu::ServedRank> ranks;
  for (const RankId rank : processes.ranks_of(process)) {
    ranks.push_back({.rank = rank, .device = device, .ranks_on_device = processes.ranks_each});
  }
  const std::int64_t step_total = options.steps + options.warmup_steps;
  return gpu::serve(options, {.membership = membership,
                              .ranks = std::move(ranks),
                              .topology = topology,
                              .policy = **policy,
                              .popularities = [&scenario] { return popularities(scenario); },
                              .progress =
                                  [&](std::int64_t steps_done) {
                                    if (process == 0 && steps_done % 64 == 0) {
                                      progress.show(
                                          scenario.eplb.enabled ? "with EPLB" : "without EPLB",
                                          steps_done, step_total);
                                    }
                                  }});
}

Result<ExitCode> run_process(ConfigRun& run, const gpu::ServeOptions& options,
                             const Topology& topology,
                             const std::optional<group::ProcessPlace>& place,
                             const Streams& streams) {
  const sim::Scenario& scenario = run.config.scenario;
  const std::int32_t process = place ? place->process : 0;
  const int device = place ? place->local_process : 0;
  if (auto fits = check_memory(options, scenario.parallel.ranks_per_gpu, device); !fits) {
    return tl::unexpected(fits.error());
  }
  auto membership = join(place, run.config, options);
  if (!membership) {
    return tl::unexpected(membership.error());
  }
  RunProgress progress(streams);
  const auto begin = RunProgress::Clock::now();
  auto served = serve(scenario, options, topology, **membership, process, device, progress);
  progress.clear();
  if (!served) {
    return tl::unexpected(served.error());
  }
  GpuRunReport report{.sim = {.config = run.config,
                              .config_file = run.file,
                              .result = in_terms_of_sim(*served, scenario),
                              .baseline = std::nullopt,
                              .hazards = {},
                              .wall_s = 0,
                              .verb = "run"},
                      .serve = *std::move(served)};
  if (scenario.run.compare_off && scenario.eplb.enabled && !report.serve.stop) {
    const sim::Scenario off = sim::without_eplb(scenario);
    auto off_options = serve_options(off, topology);
    if (!off_options) {
      return tl::unexpected(off_options.error());
    }
    progress.restart();
    const auto baseline =
        serve(off, *off_options, topology, **membership, process, device, progress);
    progress.clear();
    if (!baseline) {
      return tl::unexpected(baseline.error());
    }
    report.sim.baseline = in_terms_of_sim(*baseline, off);
  }
  (*membership)->leave();
  report.sim.wall_s = seconds_since(begin);
  if (process == reporter(report.serve.stop, processes_of(scenario))) {
    if (!run.json.takes_standard_output()) {
      print_gpu_run(report, streams.out);
    }
    if (const auto written = run.json.write(gpu_run_json(report)); !written) {
      return tl::unexpected(written.error());
    }
  }
  return failed(report.serve) ? ExitCode::kFailureFound : ExitCode::kDone;
}

/// A program on real GPUs, with what the simulator predicts of it beside.
Result<ExitCode> run_program_on_gpus(ConfigRun& run, const Streams& streams) {
  const auto measured = gpu::program::run_program(gpu_program(*run.config.program), {});
  if (!measured) {
    return tl::unexpected(measured.error());
  }
  const auto predicted = sim::run_program(*run.config.program, run.config.scenario.run.seed);
  if (!predicted) {
    return tl::unexpected(predicted.error());
  }
  const GpuProgramReport report{.config = run.config,
                                .config_file = run.file,
                                .measured = *measured,
                                .predicted = *predicted};
  if (!run.json.takes_standard_output()) {
    print_gpu_program(report, streams.out);
  }
  if (const auto written = run.json.write(gpu_program_json(report)); !written) {
    return tl::unexpected(written.error());
  }
  return measured->hang ? ExitCode::kFailureFound : ExitCode::kDone;
}

}  // namespace

ExitCode run_on_gpus(ConfigRun& run, std::span<const std::string> arguments,
                     const Streams& streams) {
  const gpu::Verification verification = read_verification(run.values);
  if (run.values.report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto refuse = [&](const Error& error) {
    print_error(streams, kName, error.message);
    return exit_code_of(error.code);
  };
  if (run.config.program) {
    try {
      const auto ended = run_program_on_gpus(run, streams);
      return ended ? *ended : refuse(ended.error());
    } catch (const std::exception& error) {
      print_error(streams, kName, error.what());
      return ExitCode::kFailureFound;
    }
  }
  const sim::Scenario& scenario = run.config.scenario;
  const auto place = group::find_process_place(group::process_environment());
  if (!place) {
    return refuse(place.error());
  }
  const auto topology = sim::topology_of(scenario.hardware, scenario.parallel);
  if (!topology) {
    return refuse(topology.error());
  }
  auto options = serve_options(scenario, *topology);
  if (!options) {
    return refuse(options.error());
  }
  options->verification = verification;
  options->replays = verification == gpu::Verification::kEveryByte;
  const Processes processes = processes_of(scenario);
  const std::int32_t devices = gpu::device_count();
  const std::int32_t local = *place ? (*place)->local_process_count : processes.count;
  if (local > devices) {
    print_error(streams, kName,
                fmt::format("{} ranks with {} a GPU need {} GPUs here, with {} bytes on each for "
                            "weights and landing rows, and there are {}",
                            scenario.parallel.ranks, processes.ranks_each, local,
                            gpu::rank_bytes(*options) * processes.ranks_each, devices));
    return ExitCode::kNotPossibleHere;
  }
  if (!*place && processes.count > 1) {
    return launch(processes, arguments, streams);
  }
  try {
    const auto ended = run_process(run, *options, *topology, *place, streams);
    return ended ? *ended : refuse(ended.error());
  } catch (const std::exception& error) {
    print_error(streams, kName, error.what());
    return ExitCode::kFailureFound;
  }
}

}  // namespace eplb::cli
