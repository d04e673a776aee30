#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/layer_map_view.hpp"

namespace eplb::gpu {

/// Limits of the kernels' shared memory.
inline constexpr std::int32_t kExpertsMax = 1024;
inline constexpr std::int32_t kSlotsMax = 2048;

/// How one layer's picks are mapped and counted: the same for every kernel that does it, alone or
/// beside other work. All pointers are device memory, and what they point at may change between
/// replays of a graph.
struct LayerMapping {
  LayerMapView map;
  ReplicaChoice choice = ReplicaChoice::kSalted;
  std::uint32_t rank = 0;
  std::uint32_t layer = 0;

  const std::int32_t* record_gate = nullptr;         ///< 0: count nothing; null: count always.
  const std::int32_t* unpadded_row_count = nullptr;  ///< Rows past it are mapped, not counted.

  std::int32_t* logical_counts = nullptr;  ///< [experts], added to.
  /// More counters of the same, for kernels that add pick by pick: a block adds to the one that its
  /// number says, so that the picks of a hot expert do not all wait for one word of the L2.
  std::int32_t stripe_count = 1;
  std::int32_t stripe_stride = 0;       ///< From the counters of a stripe to those of the next.
  std::int32_t* slot_counts = nullptr;  ///< [slots], added to; null: not counted at all.
  std::int32_t slot_count = 0;

  /// Counters that a block keeps.
  [[nodiscard]] std::int32_t counter_count() const {
    return map.expert_count + (slot_counts != nullptr ? slot_count : 0);
  }
};

/// Throws std::invalid_argument, in the name of `caller`, on sizes beyond the limits.
void require_legal(const LayerMapping& mapping, std::string_view caller);

}  // namespace eplb::gpu
