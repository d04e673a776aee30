#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/gpu/program/outcome.hpp"
#include "eplb/gpu/program/program.hpp"

namespace eplb::gpu::program {

/// NOTE [program limits] Nothing that a program runs can wait for ever. Every wait of a kernel has
/// the limit by %globaltimer, counted from its first CTA; every wait of a host thread has it by the
/// monotonic clock. Whoever runs out says in pinned memory what it waited for and raises the one
/// word that says that the run is over. From then on host threads do nothing more, kernels that
/// wait keep waiting until their own limits, so that each says what it waits for, and kernels that
/// begin leave at once. All has ended after two limits.
struct RunOptions {
  std::int32_t limit_ms = 500;   ///< 1 to 1000; longer than anything that the program does at rest.
  std::int32_t limit_scale = 1;  ///< 1 to 100, for runs under a sanitizer.
  /// Stretches sleeps and kernels, 1 to 1000: what a program orders by a few microseconds stays in
  /// order although real launches and threads jitter by as much.
  double time_scale = 1;
  std::vector<std::int32_t> devices = {};  ///< Ordinals to use; empty: all of the machine.
};

/// Runs a program: each rank on a GPU of its own, or several on one if all their kernels have room
/// on it together, so that none can wait for another rank's. kInvalidArgument if program or options
/// are not legal, kUnsupported if it needs more or larger GPUs than there are, kTimeout if a GPU is
/// still busy long after all limits. Throws CudaError if CUDA fails.
[[nodiscard]] Result<ProgramOutcome> run_program(const Program& program, const RunOptions& options);

}  // namespace eplb::gpu::program
