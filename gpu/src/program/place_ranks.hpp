#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/result.hpp"
#include "script.hpp"

namespace eplb::gpu::program {

struct GpuRoom {
  std::int32_t device_count = 0;
  std::int32_t sm_count = 0;                   ///< Of each.
  std::vector<std::int32_t> ctas_per_sm = {};  ///< Of each kernel of the script, on an empty SM.
};

/// The place of each rank in the list of devices: one of its own if there are enough. Else ranks
/// share, if all that can run at once (the largest kernel of each stream) has SMs of its own, so
/// that no kernel waits for another rank's. kUnsupported if there are too few GPUs for that, or if
/// a kernel could never run on one.
[[nodiscard]] Result<std::vector<std::int32_t>> place_ranks(const Script& script,
                                                            const GpuRoom& room);

}  // namespace eplb::gpu::program
