#pragma once

// What every kernel that maps or records shares, so that all choose, look up and count alike:
// replica choice (core's own), the lookup in a layer's map, and which picks are counted.

#include <cstdint>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/device/copy_async.cuh"
#include "eplb/gpu/device/load_now.cuh"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu::device {

/// A slot past an expert's head, by a second trip to memory. Maps change between kernels only, so
/// they are read through the read-only cache.
__device__ inline MapEntry tail_slot(const LayerMapView& map, std::int32_t expert,
                                     std::uint32_t replica) {
  const auto* tail = map.tails + static_cast<std::int64_t>(expert) * map.tail_width;
  return __ldg(tail + (replica - kHeadSlots));
}

/// An expert's head in shared memory.
struct HeldHead {
  const MapEntry* entries;

  [[nodiscard]] __device__ ReplicaCount replicas() const {
    const uint2 words = *reinterpret_cast<const uint2*>(entries);
    return {words.y & 0xFFFFU, words.x};
  }

  [[nodiscard]] __device__ MapEntry slot(std::uint32_t replica) const {
    return entries[kHeadSlotsBegin + replica];
  }
};

/// Of the eight 16-bit thresholds of a load, how many a point is not below.
__device__ inline std::uint32_t thresholds_passed(const uint4& words, std::uint32_t point) {
  const std::uint32_t pairs[]{words.x, words.y, words.z, words.w};
  std::uint32_t passed = 0;
#pragma unroll
  for (const std::uint32_t pair : pairs) {
    passed += (pair & 0xFFFFU) <= point ? 1U : 0U;
    passed += (pair >> 16U) <= point ? 1U : 0U;
  }
  return passed;
}

/// core's shared_replica, from the device's table: one more load for an expert that has replicas,
/// and for each further eight of them; none for the others.
__device__ inline std::uint32_t shared_replica(const LayerMapView& map, std::int32_t expert,
                                               std::uint32_t replica_count, const ReplicaKey& key) {
  const std::uint32_t point = share_point(key);
  const auto* octets = reinterpret_cast<const uint4*>(
      map.thresholds + static_cast<std::int64_t>(expert) * map.threshold_width);
  std::uint32_t replica = 0;
  for (std::uint32_t first = 0; first + 1U < replica_count; first += kHeadEntries) {
    replica += thresholds_passed(__ldg(octets + first / kHeadEntries), point);
  }
  return replica;
}

/// The slot, or -1, of the replica that a row chooses among an expert's. Shares are compiled apart,
/// so that the even choices do not pay for them.
template <bool kByShares>
__device__ std::int32_t chosen_slot(const LayerMapping& mapping, const HeldHead& head,
                                    std::int32_t expert, std::uint32_t row) {
  const ReplicaKey key{.row = row,
                       .rank = mapping.rank,
                       .layer = mapping.layer,
                       .expert = static_cast<std::uint32_t>(expert)};
  std::uint32_t replica = 0;
  if constexpr (kByShares) {
    replica = shared_replica(mapping.map, expert, head.replicas().count, key);
  } else {
    replica = choose_replica(mapping.choice, key, head.replicas());
  }
  const MapEntry slot =
      replica < kHeadSlots ? head.slot(replica) : tail_slot(mapping.map, expert, replica);
  return slot == kNoSlot ? -1 : slot;
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

/// The counters of experts that a block adds to.
///
/// NOTE [stripes] A layer's counters lie in so few lines that the L2 adds to one of them for many
/// blocks in turn. Stripes are further copies of them, and the step kernel adds them up.
__device__ inline std::int32_t* stripe_of(const LayerMapping& mapping, std::uint32_t block) {
  return mapping.logical_counts +
         block % static_cast<std::uint32_t>(mapping.stripe_count) * mapping.stripe_stride;
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

/// Adds one for each lane that names the counter, all lanes of a warp that name the same at once.
/// All lanes must call; -1 counts nothing.
__device__ inline void count_in_warp(std::int32_t* totals, std::int32_t index) {
  const unsigned peers = __match_any_sync(0xFFFFFFFFU, index);
  const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(peers))) - 1U;
  if (index >= 0 && threadIdx.x % 32U == first) {
    atomicAdd(&totals[index], __popc(peers));
  }
}

/// The heads of a layer's experts in a block's shared memory.
///
/// NOTE [held heads] Ids, gates and the heads of all experts are asked for side by side before the
/// first barrier, and a lookup then costs shared memory's latency. Looking up in global memory
/// would put a second round trip to the L2 behind the ids' own, in kernels that are little more
/// than two such trips long; and where others stage on the same multiprocessor, it would come
/// behind all that they have asked for, since loads are answered in order.
/// Thresholds of shares are looked up all the same: only picks of experts with replicas need them,
/// and held they would take as much shared memory again.
struct HeldHeads {
  MapEntry* entries;  ///< 16-byte aligned, of heads_bytes.

  /// Asks for all heads; nothing waits.
  __device__ void load(const LayerMapView& map) const {
    for (std::int32_t expert = threadIdx.x; expert < map.expert_count; expert += blockDim.x) {
      const std::int32_t first = expert * kHeadEntries;
      copy_async<kHeadEntries * sizeof(MapEntry)>(entries + first, map.heads + first);
    }
  }

  /// Waits, all threads together, until they are there.
  __device__ void wait() const {
    wait_for_copies();
    __syncthreads();
  }

  [[nodiscard]] __device__ HeldHead of(std::int32_t expert) const {
    return {entries + expert * kHeadEntries};
  }
};

/// What a block maps and counts with, all in shared memory: heads of the experts, counters
/// of experts, counters of slots. Slots are counted where it is compiled in and asked for.
template <bool kCountsSlots, bool kByShares>
class BlockRecorder {
 public:
  /// `shared` is 16-byte aligned and of recorder_bytes.
  __device__ BlockRecorder(const LayerMapping& mapping, void* shared)
      : mapping_(mapping),
        heads_{static_cast<MapEntry*>(shared)},
        experts_{reinterpret_cast<std::int32_t*>(heads_.entries +
                                                 mapping.map.expert_count * kHeadEntries),
                 mapping.map.expert_count},
        slots_{experts_.counts + experts_.size,
               kCountsSlots && mapping.slot_counts != nullptr ? mapping.slot_count : 0} {}

  /// Asks for all heads; nothing waits.
  __device__ void load_heads() const { heads_.load(mapping_.map); }

  /// Clears the counters and waits, all threads together, until the heads are there.
  __device__ void start() const {
    experts_.clear();
    slots_.clear();
    heads_.wait();
  }

  /// The slot of a row's pick, -1 if the id names no expert; counted if the row is.
  template <typename Id>
  __device__ std::int32_t slot(Id id, std::uint32_t row, std::uint32_t recorded_rows) const {
    const std::int32_t expert = expert_of(id, mapping_.map.expert_count);
    if (expert < 0) {
      return -1;
    }
    const std::int32_t slot = chosen_slot<kByShares>(mapping_, heads_.of(expert), expert, row);
    if (row < recorded_rows) {
      experts_.count(expert);
      if (kCountsSlots && slot >= 0 && slot < slots_.size) {
        slots_.count(slot);
      }
    }
    return slot;
  }

  /// Adds what the block has counted, after all its threads have.
  __device__ void finish() const {
    __syncthreads();
    experts_.add_to(stripe_of(mapping_, blockIdx.x));
    if constexpr (kCountsSlots) {
      slots_.add_to(mapping_.slot_counts);
    }
  }

 private:
  const LayerMapping& mapping_;
  HeldHeads heads_;
  BlockCounters experts_;
  BlockCounters slots_;
};

/// Shared memory of HeldHeads.
[[nodiscard]] inline std::size_t heads_bytes(std::int32_t expert_count) {
  return static_cast<std::size_t>(expert_count) * kHeadEntries * sizeof(MapEntry);
}

/// Shared memory of a BlockRecorder.
[[nodiscard]] inline std::size_t recorder_bytes(std::int32_t expert_count,
                                                std::int32_t counter_count) {
  return heads_bytes(expert_count) + static_cast<std::size_t>(counter_count) * sizeof(std::int32_t);
}

[[nodiscard]] inline std::size_t recorder_bytes(const LayerMapping& mapping) {
  return recorder_bytes(mapping.map.expert_count, mapping.counter_count());
}

}  // namespace eplb::gpu::device
