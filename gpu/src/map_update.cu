#include "eplb/gpu/error.hpp"
#include "eplb/gpu/map_update.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 1024;

/// The entries of an expert's block from `first` on: its count is entry 0, replica k entry k + 1.
__device__ uint4 block_entries(const std::int32_t* slots, std::int32_t replica_count,
                               std::int32_t first) {
  const auto entry = [&](std::int32_t index) {
    if (index == 0) {
      return static_cast<std::uint32_t>(replica_count);
    }
    return index <= replica_count ? static_cast<std::uint32_t>(slots[index - 1]) : kNoSlot;
  };
  const auto pair = [&](std::int32_t index) { return entry(index) | entry(index + 1) << 16U; };
  return {pair(first), pair(first + 2), pair(first + 4), pair(first + 6)};
}

/// A block updates a layer. What is staged lies in host memory: a coalesced pass brings it over the
/// link once, side by side, where lookups in place would be trips over the link one after another.
/// Then each thread writes 16 bytes at a time, neighbours neighbouring ones.
__global__ void __launch_bounds__(kBlockSize)
    unpack_maps_kernel(const __grid_constant__ MapUpdateArguments arguments,
                       std::int32_t staged_width) {
  extern __shared__ std::int32_t staged[];
  const std::int32_t* source =
      arguments.staged + static_cast<std::int64_t>(blockIdx.x) * staged_width;
  for (auto index = static_cast<std::int32_t>(threadIdx.x); index < staged_width;
       index += kBlockSize) {
    staged[index] = source[index];
  }
  __syncthreads();
  const std::int32_t layer = staged[0];
  const std::int32_t* begins = staged + 1;
  const std::int32_t* slots = begins + arguments.expert_count + 1;

  const std::int32_t vectors_per_block = arguments.block_width / kHeadEntries;
  const std::int32_t vector_count = arguments.expert_count * vectors_per_block;
  uint4* blocks =
      reinterpret_cast<uint4*>(arguments.blocks) + static_cast<std::int64_t>(layer) * vector_count;
  for (auto vector = static_cast<std::int32_t>(threadIdx.x); vector < vector_count;
       vector += kBlockSize) {
    const std::int32_t expert = vector / vectors_per_block;
    const std::int32_t begin = begins[expert];
    const std::int32_t first = (vector - expert * vectors_per_block) * kHeadEntries;
    blocks[vector] = block_entries(slots + begin, begins[expert + 1] - begin, first);
  }
}

}  // namespace

void unpack_maps(const MapUpdateArguments& arguments, cudaStream_t stream) {
  if (arguments.updated_layer_count == 0) {
    return;
  }
  const auto width =
      static_cast<std::int32_t>(staged_width(arguments.expert_count, arguments.slot_count));
  unpack_maps_kernel<<<static_cast<unsigned>(arguments.updated_layer_count), kBlockSize,
                       static_cast<std::size_t>(width) * sizeof(std::int32_t), stream>>>(arguments,
                                                                                         width);
  EPLB_CUDA(cudaGetLastError());
}

KernelResources unpack_maps_resources() {
  return kernel_resources(
      "unpack_maps", reinterpret_cast<const void*>(unpack_maps_kernel),
      {.thread_count = static_cast<int>(kBlockSize), .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
