#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "eplb/config/config.hpp"
#include "eplb/gpu/program/outcome.hpp"
#include "eplb/sim/program/program_run.hpp"

namespace eplb::cli {

/// What `eplb run` reports of a program: what GPUs did, beside what the simulator says of it.
struct GpuProgramReport {
  const config::ResolvedConfig& config;
  std::string config_file;
  gpu::program::ProgramOutcome measured;
  sim::ProgramResult predicted;
};

/// Schema "eplb.sim/1" with `measured: true`: `hang` is what was seen, `predicted` what was said.
[[nodiscard]] nlohmann::ordered_json gpu_program_json(const GpuProgramReport& report);
void print_gpu_program(const GpuProgramReport& report, std::ostream& out);

}  // namespace eplb::cli
