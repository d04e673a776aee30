#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::cli {

/// Runs that do not depend on each other.
struct RunBatch {
  std::size_t run_count = 0;
  std::int64_t step_total = 0;  ///< Of all runs.
  /// The scenario of each run. A pure function, since any thread calls it; scenarios are made as
  /// they are needed, for measured counts in them may be large.
  std::function<sim::Scenario(std::size_t run)> scenario_of;
};

struct BatchOptions {
  std::int32_t thread_count = 1;
  /// Called by one thread at a time with what all runs have served so far, and all they will.
  std::function<void(std::int64_t steps_done, std::int64_t step_total)> on_progress = {};
};

/// As many threads as this machine runs at once.
[[nodiscard]] std::int32_t hardware_thread_count();

/// One run, with the policy that its scenario names. An error says whose it is.
[[nodiscard]] Result<sim::SimulationResult> simulate_run(const sim::Scenario& scenario,
                                                         const sim::Progress& progress);

/// The results, by run; the same for any number of threads. Of several runs that fail, the error of
/// the first, which says whose it is.
[[nodiscard]] Result<std::vector<sim::SimulationResult>> simulate_batch(
    const RunBatch& batch, const BatchOptions& options);

}  // namespace eplb::cli
