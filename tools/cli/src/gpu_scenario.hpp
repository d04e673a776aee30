#pragma once

#include "eplb/core/result.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/gpu/run/serve_run.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::cli {

/// What the GPU backend makes of a scenario. Its verification is the caller's to choose.
/// kUnsupported, with the key that stands in the way, for what it does not run.
[[nodiscard]] Result<gpu::ServeOptions> serve_options(const sim::Scenario& scenario,
                                                      const Topology& topology);

/// Shares of the picks as the scenario's workload draws them, for one rank.
[[nodiscard]] gpu::PopularitySource popularities(const sim::Scenario& scenario);

}  // namespace eplb::cli
