#pragma once

#include <cstdint>

namespace eplb::gpu {

/// An entry of a map's block: a count, or a slot.
using MapEntry = std::uint16_t;

/// Entries of 16 bytes, what one load brings.
inline constexpr std::int32_t kHeadEntries = 8;

/// Slots that lie in the first 16 bytes of a block, beside their count.
inline constexpr std::int32_t kHeadSlots = kHeadEntries - 1;

/// Where a block has no slot.
inline constexpr MapEntry kNoSlot = 0xFFFF;

/// One layer's map in device memory, [experts, block_width] entries:
///   block(e) = [replica_count, slot_0, ..., slot_{n-1}, kNoSlot, ...]
///
/// NOTE [map blocks] Count and slots of an expert lie in one block, whose width is a power of two
/// of at least eight, so that every block begins at a 16-byte boundary. A count and the first seven
/// slots arrive in a single 16-byte load: no reader can pair a new count with old slots, and hardly
/// an expert has so many replicas that its lookup needs a second load. The slots behind the head
/// are as new as the head because an update is ordered on the stream of the forwards that read it.
struct LayerMapView {
  const MapEntry* blocks = nullptr;  ///< 16-byte aligned.
  std::int32_t expert_count = 0;
  std::int32_t block_width = 0;  ///< In entries; see block_width_for.
};

/// Width of a block for experts of up to `replica_count_max` replicas.
[[nodiscard]] constexpr std::int32_t block_width_for(std::int32_t replica_count_max) {
  std::int32_t width = kHeadEntries;
  while (width < replica_count_max + 1) {
    width *= 2;
  }
  return width;
}

}  // namespace eplb::gpu
