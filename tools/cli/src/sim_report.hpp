#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::cli {

/// All that `eplb sim` reports.
struct SimReport {
  const config::ResolvedConfig& config;
  std::string config_file;
  sim::SimulationResult result;
  std::optional<sim::SimulationResult> baseline;  ///< The same tokens without EPLB.
  std::vector<sim::Hazard> hazards;
  double wall_s = 0;              ///< Of all simulation.
  std::string_view verb = "sim";  ///< The command that made it.
};

/// The stable form for programs, schema "eplb.sim/1": keys in a fixed order. All but `wall_s` is a
/// function of the configuration alone.
[[nodiscard]] nlohmann::ordered_json sim_json(const SimReport& report);

/// The same for people.
void print_sim(const SimReport& report, std::ostream& out);

}  // namespace eplb::cli
