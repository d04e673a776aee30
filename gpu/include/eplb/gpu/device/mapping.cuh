#pragma once

// What every kernel that maps or records shares, so that all choose, look up and count alike:
// replica choice (core's own), the lookup in a layer's map, and which picks are counted.

#include <cstdint>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/layer_map_view.hpp"

namespace eplb::gpu::device {

/// An expert's count and first slots, as one 16-byte load brings them.
struct alignas(16) MapHead {
  std::int32_t replica_count;
  std::int32_t slots[kHeadSlots];
};

static_assert(sizeof(MapHead) == 16);

/// Maps change between kernels only, so they are read through the read-only cache.
__device__ inline MapHead load_head(const LayerMapView& map, std::int32_t expert) {
  const auto* block = map.blocks + static_cast<std::int64_t>(expert) * map.block_width;
  const int4 words = __ldg(reinterpret_cast<const int4*>(block));
  return {words.x, {words.y, words.z, words.w}};
}

/// The slot of a replica: out of the head, or of the rest of the block by a second load. The
/// selection is written out, since an array that is indexed at run time would go to local memory.
__device__ inline std::int32_t slot_of(const LayerMapView& map, const MapHead& head,
                                       std::int32_t expert, std::uint32_t replica) {
  if (replica >= kHeadSlots) {
    return __ldg(map.blocks + static_cast<std::int64_t>(expert) * map.block_width + 1 + replica);
  }
  const std::int32_t first_or_second = replica == 0 ? head.slots[0] : head.slots[1];
  return replica == 2 ? head.slots[2] : first_or_second;
}

/// Who maps: what a replica choice depends on beside row and expert.
struct Chooser {
  ReplicaChoice choice;
  std::uint32_t rank;
  std::uint32_t layer;

  __device__ std::uint32_t replica(std::uint32_t row, std::int32_t expert,
                                   std::int32_t replica_count) const {
    const ReplicaKey key{
        .row = row, .rank = rank, .layer = layer, .expert = static_cast<std::uint32_t>(expert)};
    return choose_replica(choice, key, static_cast<std::uint32_t>(replica_count));
  }
};

/// The expert that an id names, or -1. Compared in the id's own width: a 64-bit id must not wrap
/// into a valid one.
template <typename Id>
__device__ inline std::int32_t expert_of(Id id, std::int32_t expert_count) {
  return id >= 0 && id < static_cast<Id>(expert_count) ? static_cast<std::int32_t>(id) : -1;
}

/// Rows below this are counted: none while the record gate is shut. Both words are asked for at
/// once, since to look at one before the other is on its way is one more trip to the L2.
__device__ inline std::uint32_t recorded_row_count(const std::int32_t* record_gate,
                                                   const std::int32_t* unpadded_row_count) {
  const std::int32_t gate = record_gate != nullptr ? __ldg(record_gate) : 1;
  const std::int32_t rows = unpadded_row_count != nullptr ? __ldg(unpadded_row_count) : INT32_MAX;
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

}  // namespace eplb::gpu::device
