#pragma once

#include <set>
#include <string>
#include <string_view>

#include "published.hpp"
#include "scenario_runs.hpp"

namespace eplb::cli {

/// The unit of gains and drops.
inline constexpr std::string_view kShare = "share";

[[nodiscard]] std::string unit_of(RunMetric metric);

/// What a verdict counts together.
[[nodiscard]] std::string group_of(RunMetric metric);

/// Of one run, twice; of a gain's two, `off` is the one without EPLB.
[[nodiscard]] double measure(RunMetric metric, const ScenarioRuns::Done& on,
                             const ScenarioRuns::Done& off);

/// Keys that a scenario sets and a metric reads.
[[nodiscard]] std::set<std::string> keys_read(RunMetric metric, const sim::Scenario& scenario);

}  // namespace eplb::cli
