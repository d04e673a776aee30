#pragma once

#include <cstddef>
#include <cstdint>

namespace eplb::gpu {

/// A number in a map: a slot, a count of replicas, or half of a count's reciprocal.
using MapEntry = std::uint16_t;

/// Where a map has no slot.
inline constexpr MapEntry kNoSlot = 0xFFFF;

/// Entries of an expert's head: 16 bytes, what one load brings.
inline constexpr std::int32_t kHeadEntries = 8;

/// Entries of a head before its slots: the count's reciprocal, which takes two, and the count.
inline constexpr std::int32_t kHeadSlotsBegin = 3;
inline constexpr std::int32_t kHeadSlots = kHeadEntries - kHeadSlotsBegin;

/// One layer's map in device memory:
///   head(e) = [reciprocal (low, high), replica_count, slot_0, ..., slot_4]
///   tail(e) = [slot_5, ...]
/// with kNoSlot past the last replica; the reciprocal is ReplicaCount's.
///
/// NOTE [map heads] A count and the first five slots of an expert arrive in a single 16-byte load:
/// no reader can pair a new count with old slots, and hardly an expert has so many replicas that
/// its lookup needs a second load. Heads lie side by side, since most lookups need nothing else.
/// Tails are as new as heads because an update is ordered on the stream of the forwards that read
/// both.
struct LayerMapView {
  const MapEntry* heads = nullptr;  ///< [experts, kHeadEntries], 16-byte aligned.
  const MapEntry* tails = nullptr;  ///< [experts, tail_width], 16-byte aligned.
  std::int32_t expert_count = 0;
  std::int32_t tail_width = 0;  ///< See tail_width_for.

  /// Cumulative share units of each expert's replicas but the last, kNoThreshold past them:
  /// [experts, threshold_width], 16-byte aligned; null where the replica choice knows no shares.
  /// Beside the heads, so that the even choices look up and hold what they always have.
  const MapEntry* thresholds = nullptr;
  std::int32_t threshold_width = 0;  ///< See threshold_width_for.
};

/// No point lies beyond it (share_point), so an entry that is not used chooses no replica.
inline constexpr MapEntry kNoThreshold = 0xFFFF;

/// Entries of an expert's thresholds for up to `replica_count_max` replicas: a multiple of eight,
/// of which a load brings eight.
[[nodiscard]] constexpr std::int32_t threshold_width_for(std::int32_t replica_count_max) {
  const std::int32_t thresholds = replica_count_max > 2 ? replica_count_max - 1 : 1;
  return (thresholds + kHeadEntries - 1) / kHeadEntries * kHeadEntries;
}

/// Entries of a tail for experts of up to `replica_count_max` replicas: a multiple of eight.
[[nodiscard]] constexpr std::int32_t tail_width_for(std::int32_t replica_count_max) {
  const std::int32_t slots = replica_count_max > kHeadSlots ? replica_count_max - kHeadSlots : 0;
  return (slots + kHeadEntries - 1) / kHeadEntries * kHeadEntries;
}

/// Entries of a layer's map; heads come first.
[[nodiscard]] constexpr std::size_t map_entries(std::int32_t expert_count,
                                                std::int32_t tail_width) {
  return static_cast<std::size_t>(expert_count) *
         static_cast<std::size_t>(kHeadEntries + tail_width);
}

}  // namespace eplb::gpu
