#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "eplb/gpu/run/serve_run.hpp"
#include "sim_report.hpp"

namespace eplb::cli {

/// All that `eplb run` reports: what `eplb sim` does, measured, and what was proved on the way.
struct GpuRunReport {
  SimReport sim;
  gpu::ServeResult serve;
};

/// A measured run in the simulator's terms.
[[nodiscard]] sim::SimulationResult in_terms_of_sim(const gpu::ServeResult& serve,
                                                    const sim::Scenario& scenario);

/// Whether anything was found wrong: weights, counts, or a group that has ended early.
[[nodiscard]] bool failed(const gpu::ServeResult& serve);

/// As sim_json, with `measured: true`, `verification` and `costs`.
[[nodiscard]] nlohmann::ordered_json gpu_run_json(const GpuRunReport& report);
void print_gpu_run(const GpuRunReport& report, std::ostream& out);

}  // namespace eplb::cli
