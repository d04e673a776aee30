#include "scenario_runs.hpp"

#include <utility>

#include "run_batch.hpp"

namespace eplb::cli {

ScenarioRun with_eplb(ScenarioRun run, bool enabled) {
  run.with_eplb = enabled;
  return run;
}

std::string ScenarioRuns::key_of(const ScenarioRun& run) {
  std::string key = run.scenario + (run.with_eplb ? " on" : " off");
  for (const std::string& override_text : run.overrides) {
    key += '\n' + override_text;
  }
  return key;
}

Result<void> ScenarioRuns::want(const ScenarioRun& run) {
  const std::string key = key_of(run);
  if (done_.contains(key)) {
    return {};
  }
  config::LoadOptions options = options_;
  options.overrides.insert(options.overrides.end(), run.overrides.begin(), run.overrides.end());
  const auto loaded = config::load_config(configs_ / (run.scenario + ".yaml"), options);
  if (!loaded) {
    return fail(ErrorCode::kInvalidConfig, to_string(loaded.error()));
  }
  done_.emplace(
      key, Done{.scenario = run.with_eplb ? loaded->scenario : sim::without_eplb(loaded->scenario),
                .result = {}});
  return {};
}

Result<void> ScenarioRuns::run_all(
    const std::function<void(std::int64_t steps_done, std::int64_t step_total)>& progress) {
  std::vector<Done*> waiting;
  waiting.reserve(done_.size());
  std::int64_t step_total = 0;
  for (auto& entry : done_) {
    waiting.push_back(&entry.second);
    step_total += entry.second.scenario.run.steps;
  }
  auto results =
      simulate_batch({.run_count = waiting.size(),
                      .step_total = step_total,
                      .scenario_of = [&](std::size_t run) { return waiting[run]->scenario; }},
                     {.thread_count = hardware_thread_count(), .on_progress = progress});
  if (!results) {
    return tl::unexpected(std::move(results).error());
  }
  for (std::size_t run = 0; run < waiting.size(); ++run) {
    waiting[run]->result = std::move((*results)[run]);
  }
  return {};
}

}  // namespace eplb::cli
