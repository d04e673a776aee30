#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "eplb/gpu/device/mapping.cuh"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/map_and_record.hpp"

namespace eplb::gpu {
namespace {

/// Neighbouring ids of one thread, moved with the widest accesses that their size allows.
template <typename Id, int kCount>
struct alignas(std::min<std::size_t>(sizeof(Id) * kCount, 16)) IdPack {
  Id ids[kCount];
};

/// A pack whose ids past the end of the buffer are -1. Whole packs go in one access if the buffers
/// are aligned to it.
template <typename Id, int kCount>
__device__ IdPack<Id, kCount> load_pack(const Id* ids, std::uint32_t first, std::uint32_t id_count,
                                        bool is_aligned) {
  if (is_aligned && first + kCount <= id_count) {
    return *reinterpret_cast<const IdPack<Id, kCount>*>(ids + first);
  }
  IdPack<Id, kCount> pack;
#pragma unroll
  for (int index = 0; index < kCount; ++index) {
    pack.ids[index] = first + index < id_count ? ids[first + index] : Id{-1};
  }
  return pack;
}

template <typename Id, int kCount>
__device__ void store_pack(Id* ids, std::uint32_t first, std::uint32_t id_count, bool is_aligned,
                           const IdPack<Id, kCount>& pack) {
  if (is_aligned && first + kCount <= id_count) {
    *reinterpret_cast<IdPack<Id, kCount>*>(ids + first) = pack;
    return;
  }
#pragma unroll
  for (int index = 0; index < kCount; ++index) {
    if (first + index < id_count) {
      ids[first + index] = pack.ids[index];
    }
  }
}

/// Where a pack begins among rows of top_k ids.
struct Place {
  std::uint32_t row;
  std::uint32_t column;

  __device__ Place(std::uint32_t first, std::uint32_t top_k)
      : row(first / top_k), column(first - row * top_k) {}

  /// Has the division done by here: left to itself, the compiler does it behind the wait for the
  /// ids, where it takes time.
  __device__ void settle() { asm volatile("" : "+r"(row), "+r"(column)); }
};

/// Replaces each id of a pack by `change(id, row)`. Ids past the end of the buffer are -1 and are
/// given a row past the last; `change` must leave -1 alone without looking at the row.
template <typename Id, int kCount, typename Change>
__device__ void change_ids(IdPack<Id, kCount>& pack, Place place, std::uint32_t top_k,
                           const Change& change) {
#pragma unroll
  for (int index = 0; index < kCount; ++index) {
    pack.ids[index] = change(pack.ids[index], place.row);
    if (++place.column == top_k) {
      place.column = 0;
      ++place.row;
    }
  }
}

/// A pack as the router left it, but -1 in padding rows. The mask is read here, beside the ids, and
/// not where an id is mapped: that would be one more trip to the L2 behind the others.
template <int kCount, typename Id>
__device__ IdPack<Id, kCount> load_unpadded(const MapArguments<Id>& arguments, std::uint32_t first,
                                            Place place, std::uint32_t id_count, bool is_aligned) {
  auto pack = load_pack<Id, kCount>(arguments.logical_ids, first, id_count, is_aligned);
  if (const std::uint8_t* is_padding = arguments.is_padding; is_padding != nullptr) {
    const auto row_count = static_cast<std::uint32_t>(arguments.row_count);
    change_ids(pack, place, static_cast<std::uint32_t>(arguments.top_k),
               [&](Id id, std::uint32_t row) {
                 return row < row_count && is_padding[row] != 0 ? Id{-1} : id;
               });
  }
  return pack;
}

template <typename Id, bool kCountsSlots, bool kByShares, int kIdsPerThread>
__global__ void map_and_record_kernel(const __grid_constant__ MapArguments<Id> arguments,
                                      bool is_aligned) {
  extern __shared__ uint4 shared_memory[];
  const device::BlockRecorder<kCountsSlots, kByShares> recorder(arguments.mapping, shared_memory);
  const auto top_k = static_cast<std::uint32_t>(arguments.top_k);
  const std::uint32_t id_count = static_cast<std::uint32_t>(arguments.row_count) * top_k;
  const std::uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) * kIdsPerThread;

  // What needs no branch is asked for first, and the ids, whose two ways of loading meet again
  // behind a branch where the compiler waits for them, last: so all is under way at once.
  const std::uint32_t recorded_rows = device::recorded_row_count(arguments.mapping);
  recorder.load_heads();
  Place place(first, top_k);
  auto pack = load_unpadded<kIdsPerThread>(arguments, first, place, id_count, is_aligned);
  place.settle();
  recorder.start();
  change_ids(pack, place, top_k, [&](Id id, std::uint32_t row) {
    return static_cast<Id>(recorder.slot(id, row, recorded_rows));
  });
  store_pack(arguments.slot_ids, first, id_count, is_aligned, pack);
  if (recorded_rows != 0) {  // The same in every thread: all read the same gate.
    recorder.finish();
  }
}

template <typename Id>
using MapKernel = void (*)(MapArguments<Id>, bool);

template <typename Id, bool kCountsSlots, bool kByShares>
MapKernel<Id> kernel_of(std::int32_t ids_per_thread) {
  switch (ids_per_thread) {
    case 1:
      return map_and_record_kernel<Id, kCountsSlots, kByShares, 1>;
    case 2:
      return map_and_record_kernel<Id, kCountsSlots, kByShares, 2>;
    case 4:
      return map_and_record_kernel<Id, kCountsSlots, kByShares, 4>;
    default:
      throw std::invalid_argument("a thread maps 1, 2 or 4 ids");
  }
}

template <typename Id>
MapKernel<Id> kernel_of(bool counts_slots, bool by_shares, std::int32_t ids_per_thread) {
  if (by_shares) {
    return counts_slots ? kernel_of<Id, true, true>(ids_per_thread)
                        : kernel_of<Id, false, true>(ids_per_thread);
  }
  return counts_slots ? kernel_of<Id, true, false>(ids_per_thread)
                      : kernel_of<Id, false, false>(ids_per_thread);
}

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(std::string("map_and_record: ") + what);
  }
}

template <typename Id>
void validate(const MapArguments<Id>& arguments) {
  require(arguments.row_count >= 0 && arguments.top_k >= 1, "rows or top_k out of range");
  require(static_cast<std::int64_t>(arguments.row_count) * arguments.top_k < (1LL << 30),
          "too many ids");
  if (arguments.row_count > 0) {
    require_legal(arguments.mapping, "map_and_record");
  }
}

template <typename Id>
bool is_aligned_to(const Id* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

template <typename Id>
void add_resources(std::vector<KernelResources>& resources, std::int32_t expert_count,
                   std::int32_t slot_count) {
  const char* id_name = std::is_same_v<Id, std::int32_t> ? "int32" : "int64";
  for (const bool counts_slots : {false, true}) {
    for (const int ids_per_thread : {1, 2, 4}) {
      const BlockSize block{.thread_count = MapLaunch{}.block_size,
                            .dynamic_shared_bytes = device::recorder_bytes(
                                expert_count, expert_count + (counts_slots ? slot_count : 0))};
      const std::string name = std::string("map_and_record<") + id_name +
                               (counts_slots ? ", both, " : ", logical, ") +
                               std::to_string(ids_per_thread) + ">";
      const auto kernel = kernel_of<Id>(counts_slots, false, ids_per_thread);
      resources.push_back(kernel_resources(name, reinterpret_cast<const void*>(kernel), block));
    }
  }
}

}  // namespace

// By the bench's sweep on an H200. A small batch is quickest with a thread an id, spread over many
// processors; a large one with few large blocks, since each adds all its counters at the end.
MapLaunch default_map_launch(std::int64_t id_count) {
  constexpr std::int64_t kSmallMax = 16LL * 1024;
  if (id_count <= kSmallMax) {
    return {.ids_per_thread = 1, .block_size = 256};
  }
  return {.ids_per_thread = 2, .block_size = 1024};
}

template <typename Id>
void map_and_record(const MapArguments<Id>& arguments, const MapLaunch& launch,
                    cudaStream_t stream) {
  validate(arguments);
  if (arguments.row_count == 0) {
    return;
  }
  const LayerMapping& mapping = arguments.mapping;
  const bool counts_slots = mapping.slot_counts != nullptr;
  const std::size_t pack_bytes =
      std::min<std::size_t>(sizeof(Id) * static_cast<std::size_t>(launch.ids_per_thread), 16);
  const bool is_aligned = is_aligned_to(arguments.logical_ids, pack_bytes) &&
                          is_aligned_to(arguments.slot_ids, pack_bytes);
  const std::int64_t ids_per_block =
      static_cast<std::int64_t>(launch.ids_per_thread) * launch.block_size;
  const std::int64_t id_count = static_cast<std::int64_t>(arguments.row_count) * arguments.top_k;
  const auto block_count = static_cast<unsigned>((id_count + ids_per_block - 1) / ids_per_block);
  const MapKernel<Id> kernel =
      kernel_of<Id>(counts_slots, mapping.choice == ReplicaChoice::kShares, launch.ids_per_thread);
  kernel<<<block_count, static_cast<unsigned>(launch.block_size), device::recorder_bytes(mapping),
           stream>>>(arguments, is_aligned);
  EPLB_CUDA(cudaGetLastError());
}

template void map_and_record(const MapArguments<std::int32_t>&, const MapLaunch&, cudaStream_t);
template void map_and_record(const MapArguments<std::int64_t>&, const MapLaunch&, cudaStream_t);

std::vector<KernelResources> map_and_record_resources(std::int32_t expert_count,
                                                      std::int32_t slot_count) {
  std::vector<KernelResources> resources;
  add_resources<std::int32_t>(resources, expert_count, slot_count);
  add_resources<std::int64_t>(resources, expert_count, slot_count);
  return resources;
}

}  // namespace eplb::gpu
