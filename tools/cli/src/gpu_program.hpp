#pragma once

#include "eplb/gpu/program/program.hpp"
#include "eplb/sim/program/program.hpp"

namespace eplb::cli {

/// The program that the simulator predicts, as GPUs run it. What a GPU brings itself stays behind:
/// the budgets of its SMs, how it treats a gang that waits, what its copies and hosts take, and the
/// simulator's jitter, watchdog and sweep.
[[nodiscard]] gpu::program::Program gpu_program(const sim::Program& program);

}  // namespace eplb::cli
