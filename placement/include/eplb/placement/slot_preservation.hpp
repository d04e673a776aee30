#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"

namespace eplb::placement {

/// Reorders one layer's `wanted` occupants inside each rank, so that an expert which the rank holds
/// already keeps its slot and its weights need not be copied there (vLLM's preserve_intragpu_slots,
/// eplb-semantics 4.2). Slots are visited in order, each claims the first unclaimed copy of its
/// present occupant; what is left fills the other slots, both ascending. Which experts a rank holds
/// never changes. If `current` has another number of slots than `wanted`, or a rank's slots do not
/// divide that number, no slot means the same place in both and `wanted` comes back unchanged.
[[nodiscard]] std::vector<LogicalExpertId> preserve_slots(std::span<const LogicalExpertId> current,
                                                          std::vector<LogicalExpertId> wanted,
                                                          std::int32_t slots_per_rank);

}  // namespace eplb::placement
