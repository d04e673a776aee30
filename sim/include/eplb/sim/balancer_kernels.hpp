#pragma once

#include <cstdint>

#include "eplb/core/options.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// What one rank counts in a layer.
struct CountedPicks {
  std::int64_t picks = 0;            ///< (row, k) of the rank's own rows.
  std::int64_t busiest_logical = 0;  ///< Those of the most popular expert,
  std::int64_t busiest_slot = 0;     ///< and of the slot that gets most.
};

/// Time of a kernel that maps and counts with one global atomic a pick:
///   start + picks x per_pick (+ picks x second_count) + picks on the busiest counter x collision
/// Both ways of counting meet the busier of both counters: their atomics interleave.
[[nodiscard]] double record_kernel_ns(const HardwareOptions& hardware, LoadCounting counting,
                                      const CountedPicks& picks);

/// Time that mapping and counting add to a layer of a forward; it counts only if `recording`.
[[nodiscard]] double mapping_ns(const HardwareOptions& hardware, const EngineOptions& engine,
                                bool recording, const CountedPicks& picks);

}  // namespace eplb::sim
