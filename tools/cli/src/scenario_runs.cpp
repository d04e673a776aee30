#include "scenario_runs.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "eplb/placement/registry.hpp"

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
    std::string text;
    for (const config::Diagnostic& diagnostic : loaded.error()) {
      text += (text.empty() ? "" : "\n") + to_string(diagnostic);
    }
    return fail(ErrorCode::kInvalidConfig, text);
  }
  done_.emplace(
      key, Done{.scenario = run.with_eplb ? loaded->scenario : sim::without_eplb(loaded->scenario),
                .result = {}});
  return {};
}

Result<void> ScenarioRuns::run_all(
    const std::function<void(std::size_t done, std::size_t total)>& progress) {
  std::vector<Done*> waiting;
  waiting.reserve(done_.size());
  for (auto& entry : done_) {
    waiting.push_back(&entry.second);
  }
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // Of what follows.
  std::optional<Error> failure;
  std::size_t ended = 0;
  const auto work = [&] {
    for (std::size_t index = next++; index < waiting.size(); index = next++) {
      Done& run = *waiting[index];
      const auto policy = placement::make_policy(run.scenario.eplb.policy);
      auto result = policy ? sim::simulate(run.scenario, **policy, {})
                           : Result<sim::SimulationResult>(tl::unexpected(policy.error()));
      const std::lock_guard lock(mutex);
      if (result) {
        run.result = *std::move(result);
      } else {
        failure = result.error();
      }
      progress(++ended, waiting.size());
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    threads.reserve(count);
    for (std::size_t thread = 0; thread < std::min(count, waiting.size()); ++thread) {
      threads.emplace_back(work);
    }
  }
  if (failure.has_value()) {
    return tl::unexpected(*failure);
  }
  return {};
}

}  // namespace eplb::cli
