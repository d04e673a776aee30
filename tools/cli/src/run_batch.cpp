#include "run_batch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "policies.hpp"

namespace eplb::cli {
namespace {

std::string name_of(const sim::Scenario& scenario) {
  const std::string arm = scenario.eplb.enabled
                              ? fmt::format("policy {} every {} steps", scenario.eplb.policy,
                                            scenario.eplb.step_interval)
                              : "without EPLB";
  return fmt::format("{}, seed {}", arm, scenario.run.seed);
}

/// Deals runs to threads in their order. Once a run has failed no other begins, and all before it
/// have begun, so the first failure is the same for any number of threads.
class Dealer {
 public:
  Dealer(const RunBatch& batch, const BatchOptions& options)
      : batch_(batch), options_(options), results_(batch.run_count) {}

  void work() {
    while (!failed_) {
      const std::size_t run = next_++;
      if (run >= batch_.run_count) {
        return;
      }
      results_[run] = simulate_run(batch_.scenario_of(run), counter());
      if (!results_[run]->has_value()) {
        failed_ = true;
      }
    }
  }

  [[nodiscard]] Result<std::vector<sim::SimulationResult>> results() && {
    std::vector<sim::SimulationResult> done;
    done.reserve(results_.size());
    for (auto& result : results_) {
      if (!result->has_value()) {
        return tl::unexpected(result->error());
      }
      done.push_back(**std::move(result));
    }
    return done;
  }

 private:
  /// Adds what one run has served to what all have.
  [[nodiscard]] sim::Progress counter() {
    if (!options_.on_progress) {
      return {};
    }
    return [this, counted = std::int64_t{0}](std::int64_t steps_done) mutable {
      const std::scoped_lock lock(progress_mutex_);
      steps_done_ += steps_done - counted;
      counted = steps_done;
      options_.on_progress(steps_done_, batch_.step_total);
    };
  }

  const RunBatch& batch_;
  const BatchOptions& options_;
  std::vector<std::optional<Result<sim::SimulationResult>>> results_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex progress_mutex_;
  std::int64_t steps_done_ = 0;
};

}  // namespace

Result<sim::SimulationResult> simulate_run(const sim::Scenario& scenario,
                                           const sim::Progress& progress) {
  const auto policy = known_policies().make(scenario.eplb.policy);
  auto result = policy.has_value() ? sim::simulate(scenario, **policy, progress)
                                   : tl::unexpected(policy.error());
  if (!result) {
    return fail(result.error().code,
                fmt::format("{}: {}", name_of(scenario), result.error().message));
  }
  if (progress) {
    progress(scenario.run.steps);
  }
  return result;
}

std::int32_t hardware_thread_count() {
  return static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<std::vector<sim::SimulationResult>> simulate_batch(const RunBatch& batch,
                                                          const BatchOptions& options) {
  Dealer dealer(batch, options);
  {
    // A future waits for its thread as it goes, and hands on what the thread has thrown.
    std::vector<std::future<void>> helpers;
    const std::size_t thread_count =
        std::min(static_cast<std::size_t>(std::max(1, options.thread_count)), batch.run_count);
    helpers.reserve(thread_count);
    for (std::size_t thread = 1; thread < thread_count; ++thread) {
      helpers.push_back(std::async(std::launch::async, [&dealer] { dealer.work(); }));
    }
    dealer.work();
    for (std::future<void>& helper : helpers) {
      helper.get();
    }
  }
  return std::move(dealer).results();
}

}  // namespace eplb::cli
