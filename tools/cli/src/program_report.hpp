#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/sim/program/program_run.hpp"

namespace eplb::cli {

/// What `eplb sim` reports of a program.
struct ProgramReport {
  const config::ResolvedConfig& config;
  std::string config_file;
  sim::ProgramResult result;
  sim::Sweep sweep;
  std::vector<sim::Hazard> hazards;
  double wall_s = 0;
};

/// For programs, schema "eplb.sim/1"; the keys of a serving run that make sense here, and no other
/// of those.
[[nodiscard]] nlohmann::ordered_json program_json(const ProgramReport& report);

/// The same for people.
void print_program(const ProgramReport& report, std::ostream& out);

/// A chain of waiting as a list of {rank, operation, holds, waits_for}.
[[nodiscard]] nlohmann::ordered_json waits_json(const std::vector<sim::Wait>& waits);

[[nodiscard]] nlohmann::ordered_json hazards_json(const std::vector<sim::Hazard>& hazards);

/// A numbered sentence a link, each line after `prefix`.
void print_waits(const std::vector<sim::Wait>& waits, const std::string& prefix, std::ostream& out);

/// All hazards, each line after `prefix`; nothing if there are none.
void print_hazards(const std::vector<sim::Hazard>& hazards, const std::string& prefix,
                   std::ostream& out);

}  // namespace eplb::cli
