#include "compare_command.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "comparison.hpp"
#include "comparison_report.hpp"
#include "eplb/core/communicator.hpp"
#include "run_progress.hpp"
#include "sensitivity.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "sim";
constexpr std::int32_t kSeedCount = 3;
constexpr std::int32_t kSeedCountMax = 64;

/// What cannot be compared, and why.
Result<void> check_comparable(const config::ResolvedConfig& config) {
  if (config.program.has_value()) {
    return fail(ErrorCode::kInvalidConfig,
                "--compare: a program serves nothing that EPLB could speed up; leave --compare out "
                "or give a scenario that serves");
  }
  if (is_elastic(config.scenario.parallel)) {
    return fail(ErrorCode::kInvalidConfig,
                "--compare: an elastic group cannot run without EPLB, so there is nothing to "
                "compare with; leave --compare or parallel.scale out");
  }
  return {};
}

BatchOptions batch_options(RunProgress& progress, std::string_view name) {
  return {.thread_count = hardware_thread_count(),
          .on_progress = [&progress, name](std::int64_t steps_done, std::int64_t step_total) {
            progress.show(name, steps_done, step_total);
          }};
}

}  // namespace

std::vector<OptionSpec> compare_options() {
  return {
      {.name = "compare",
       .value_name = "",
       .help = "say whether EPLB pays: no EPLB against every policy at three step intervals, on "
               "several seeds"},
      {.name = "seeds",
       .value_name = "N",
       .help = fmt::format("how many seeds --compare takes, from run.seed on: 1 to {}, {} "
                           "without it",
                           kSeedCountMax, kSeedCount)},
      {.name = "sensitivity",
       .value_name = "",
       .help = "with --compare: how the best arm's gain moves as one figure of the hardware, the "
               "serving or the workload at a time is 20 % less or more"}};
}

CompareRequest read_compare_request(OptionValues& values) {
  const CompareRequest request{
      .wanted = values.has("compare"),
      .with_sensitivity = values.has("sensitivity"),
      .seed_count =
          values.integer("seeds", {.min = 1, .max = kSeedCountMax, .fallback = kSeedCount})};
  if (request.wanted && values.has("trace")) {
    values.note_problem("--trace: shows one run, and --compare makes many; leave one of them out");
  }
  if (!request.wanted) {
    for (const std::string_view name : {"seeds", "sensitivity"}) {
      if (values.has(std::string(name))) {
        values.note_problem(fmt::format("--{}: is for --compare only", name));
      }
    }
  } else if (request.with_sensitivity && values.has("seeds") && request.seed_count == 1) {
    values.note_problem(
        "--sensitivity: one seed gives no verdict that could survive; take --seeds 2 or more");
  }
  return request;
}

Result<void> run_compare(ConfigRun& run, const CompareRequest& request, const Streams& streams) {
  if (auto comparable = check_comparable(run.config); !comparable) {
    return comparable;
  }
  const sim::Scenario& scenario = run.config.scenario;
  if (!scenario.eplb.enabled) {
    print_warning(
        streams, kName,
        fmt::format("eplb.enabled is false, which --compare passes over: all arms but one "
                    "have EPLB, with num_redundant_experts {}",
                    scenario.eplb.num_redundant_experts));
  }
  const auto begin = RunProgress::Clock::now();
  RunProgress progress(streams);
  auto comparison = compare_arms(
      scenario, {.seed_count = request.seed_count, .batch = batch_options(progress, "comparison")});
  if (!comparison) {
    return tl::unexpected(comparison.error());
  }
  std::optional<std::vector<ParameterEffect>> sensitivity;
  if (request.with_sensitivity) {
    progress.restart();
    auto effects = parameter_effects(scenario, *comparison, batch_options(progress, "sensitivity"));
    if (!effects) {
      return tl::unexpected(effects.error());
    }
    sensitivity = *std::move(effects);
  }
  progress.clear();
  const ComparisonReport report{.config = run.config,
                                .config_file = run.file,
                                .comparison = *std::move(comparison),
                                .sensitivity = std::move(sensitivity),
                                .wall_s = seconds_since(begin)};
  if (!run.json.takes_standard_output()) {
    print_comparison(report, streams.out);
  }
  return run.json.write(comparison_json(report));
}

}  // namespace eplb::cli
