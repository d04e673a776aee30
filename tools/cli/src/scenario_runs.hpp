#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/simulation.hpp"
#include "published.hpp"

namespace eplb::cli {

/// Runs of scenarios, each done once, side by side. What they see is a file and overrides.
class ScenarioRuns {
 public:
  ScenarioRuns(std::filesystem::path configs, config::LoadOptions options)
      : configs_(std::move(configs)), options_(std::move(options)) {}

  struct Done {
    sim::Scenario scenario;
    sim::SimulationResult result;
  };

  /// Wants a run, unless it is wanted already. Fails if the scenario cannot be loaded.
  [[nodiscard]] Result<void> want(const ScenarioRun& run);

  /// Does all that is wanted, on as many threads as the machine runs at once. `progress` is told
  /// how many steps of all are done.
  [[nodiscard]] Result<void> run_all(
      const std::function<void(std::int64_t steps_done, std::int64_t step_total)>& progress);

  [[nodiscard]] const Done& of(const ScenarioRun& run) const { return done_.at(key_of(run)); }

 private:
  [[nodiscard]] static std::string key_of(const ScenarioRun& run);

  std::filesystem::path configs_;
  config::LoadOptions options_;
  std::map<std::string, Done> done_;
};

/// The two arms of a run that compares them.
[[nodiscard]] ScenarioRun with_eplb(ScenarioRun run, bool enabled);

}  // namespace eplb::cli
