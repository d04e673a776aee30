#pragma once

// What every kernel that maps or records shares, so that all choose, look up and count alike:
// replica choice (core's own), the lookup in a layer's map, and which picks are counted.

#include <cstdint>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/device/load_now.cuh"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu::device {

/// An expert's count and first slots, as one 16-byte load brings them.
struct alignas(16) MapHead {
  std::uint32_t words[kHeadEntries / 2];

  /// The entries are picked out of registers: an array that is indexed at run time would go to
  /// local memory.
  [[nodiscard]] __device__ std::uint32_t entry(std::uint32_t index) const {
    const std::uint32_t low = index < 2 ? words[0] : words[1];
    const std::uint32_t high = index < 6 ? words[2] : words[3];
    return ((index < 4 ? low : high) >> (index % 2 * 16)) & 0xFFFFU;
  }

  [[nodiscard]] __device__ std::uint32_t replica_count() const { return words[0] & 0xFFFFU; }
};

static_assert(sizeof(MapHead) == 16);

/// Maps change between kernels only, so they are read through the read-only cache.
__device__ inline MapHead load_head(const LayerMapView& map, std::int32_t expert) {
  const auto* block = map.blocks + static_cast<std::int64_t>(expert) * map.block_width;
  const uint4 words = __ldg(reinterpret_cast<const uint4*>(block));
  return {words.x, words.y, words.z, words.w};
}

/// The slot of a replica, or -1: out of the head, or of the rest of the block by a second load.
__device__ inline std::int32_t slot_of(const LayerMapView& map, const MapHead& head,
                                       std::int32_t expert, std::uint32_t replica) {
  const std::uint32_t index = 1 + replica;
  const std::uint32_t entry =
      index < kHeadEntries
          ? head.entry(index)
          : __ldg(map.blocks + static_cast<std::int64_t>(expert) * map.block_width + index);
  return entry == kNoSlot ? -1 : static_cast<std::int32_t>(entry);
}

/// The slot, or -1, of the replica that a row chooses among an expert's.
__device__ inline std::int32_t chosen_slot(const LayerMapping& mapping, const MapHead& head,
                                           std::int32_t expert, std::uint32_t row) {
  const ReplicaKey key{.row = row,
                       .rank = mapping.rank,
                       .layer = mapping.layer,
                       .expert = static_cast<std::uint32_t>(expert)};
  const std::uint32_t replica = choose_replica(mapping.choice, key, head.replica_count());
  return slot_of(mapping.map, head, expert, replica);
}

/// The expert that an id names, or -1. Compared in the id's own width: a 64-bit id must not wrap
/// into a valid one.
template <typename Id>
__device__ inline std::int32_t expert_of(Id id, std::int32_t expert_count) {
  return id >= 0 && id < static_cast<Id>(expert_count) ? static_cast<std::int32_t>(id) : -1;
}

/// Rows below this are counted: none while the record gate is shut. Both words are asked for at
/// once, since to look at one before the other is on its way is one more trip to the L2.
__device__ inline std::uint32_t recorded_row_count(const LayerMapping& mapping) {
  const std::int32_t gate = load_now_or(mapping.record_gate, 1);
  const std::int32_t rows = load_now_or(mapping.unpadded_row_count, INT32_MAX);
  return gate != 0 ? static_cast<std::uint32_t>(max(rows, 0)) : 0;
}

/// Counters of a block in shared memory.
///
/// NOTE [hot experts] A global atomic a pick makes all picks of a hot expert wait for one word of
/// the L2. Shared memory adds one to a word for all lanes that name it at once (ATOMS.POPC.INC), so
/// a block counts uniform and hot ids at the same pace, and then adds each counter once.
struct BlockCounters {
  std::int32_t* counts;
  std::int32_t size;

  __device__ void clear() const {
    for (std::int32_t index = threadIdx.x; index < size; index += blockDim.x) {
      counts[index] = 0;
    }
  }

  __device__ void count(std::int32_t index) const { atomicAdd(&counts[index], 1); }

  /// Needs a barrier after the last count.
  __device__ void add_to(std::int32_t* totals) const {
    for (std::int32_t index = threadIdx.x; index < size; index += blockDim.x) {
      if (const std::int32_t added = counts[index]; added != 0) {
        atomicAdd(&totals[index], added);
      }
    }
  }
};

/// What a block maps and counts with; its counters are [experts][slots] in shared memory. Slots are
/// counted where it is compiled in and asked for.
template <bool kCountsSlots>
struct BlockRecorder {
  const LayerMapping& mapping;
  BlockCounters experts;
  BlockCounters slots;

  __device__ BlockRecorder(const LayerMapping& layer, std::int32_t* shared_counters)
      : mapping(layer),
        experts{shared_counters, layer.map.expert_count},
        slots{shared_counters + layer.map.expert_count,
              kCountsSlots && layer.slot_counts != nullptr ? layer.slot_count : 0} {}

  /// Needs a barrier before the first count.
  __device__ void clear() const {
    experts.clear();
    slots.clear();
  }

  /// The slot of a row's pick of an expert, or -1; counted if the row is.
  __device__ std::int32_t slot(const MapHead& head, std::int32_t expert, std::uint32_t row,
                               std::uint32_t recorded_rows) const {
    const std::int32_t slot = chosen_slot(mapping, head, expert, row);
    if (row < recorded_rows) {
      experts.count(expert);
      if (kCountsSlots && slot >= 0 && slot < slots.size) {
        slots.count(slot);
      }
    }
    return slot;
  }

  /// Needs a barrier after the last count.
  __device__ void add_to_totals() const {
    experts.add_to(mapping.logical_counts);
    if constexpr (kCountsSlots) {
      slots.add_to(mapping.slot_counts);
    }
  }
};

}  // namespace eplb::gpu::device
