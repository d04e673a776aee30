#pragma once

#include <cstdint>

namespace eplb::gpu {

/// Slots that lie in the first 16 bytes of a block, beside their count.
inline constexpr std::int32_t kHeadSlots = 3;

/// One layer's map in device memory, [experts, block_width] int32:
///   block(e) = [replica_count, slot_0, ..., slot_{n-1}, -1, ...]
///
/// NOTE [map blocks] Count and slots of an expert lie in one block, whose width is a power of two
/// of at least four, so that every block begins at a 16-byte boundary. A count and the first three
/// slots arrive in a single 16-byte load: no reader can pair a new count with old slots, and most
/// experts, which have few replicas, need no second load. The slots behind the head are as new as
/// the head because an update is ordered on the stream of the forwards that read it.
struct LayerMapView {
  const std::int32_t* blocks = nullptr;  ///< 16-byte aligned.
  std::int32_t expert_count = 0;
  std::int32_t block_width = 0;  ///< In int32; see block_width_for.
};

/// Width of a block for experts of up to `replica_count_max` replicas.
[[nodiscard]] constexpr std::int32_t block_width_for(std::int32_t replica_count_max) {
  std::int32_t width = kHeadSlots + 1;
  while (width < replica_count_max + 1) {
    width *= 2;
  }
  return width;
}

}  // namespace eplb::gpu
