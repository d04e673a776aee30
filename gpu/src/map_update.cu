#include "eplb/gpu/error.hpp"
#include "eplb/gpu/map_update.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 256;

/// Four entries of an expert's block from `first` on: its count is entry 0, replica k entry k + 1.
__device__ int4 block_entries(const std::int32_t* slots, std::int32_t replica_count,
                              std::int32_t first) {
  const auto entry = [&](std::int32_t index) {
    if (index == 0) {
      return replica_count;
    }
    return index <= replica_count ? slots[index - 1] : -1;
  };
  return {entry(first), entry(first + 1), entry(first + 2), entry(first + 3)};
}

/// A thread writes 16 bytes; neighbours write neighbouring ones. blockIdx.y is the updated layer.
__global__ void unpack_maps_kernel(const __grid_constant__ MapUpdateArguments arguments,
                                   std::int32_t staged_width) {
  const std::int32_t* staged =
      arguments.staged + static_cast<std::int64_t>(blockIdx.y) * staged_width;
  const std::int32_t layer = staged[0];
  const std::int32_t* begins = staged + 1;
  const std::int32_t* slots = begins + arguments.expert_count + 1;

  const std::int32_t vectors_per_block = arguments.block_width / 4;
  const std::int32_t vector_count = arguments.expert_count * vectors_per_block;
  const auto vector = static_cast<std::int32_t>(blockIdx.x * kBlockSize + threadIdx.x);
  if (vector >= vector_count) {
    return;
  }
  const std::int32_t expert = vector / vectors_per_block;
  const std::int32_t begin = begins[expert];
  const std::int32_t first = (vector - expert * vectors_per_block) * 4;
  auto* blocks = reinterpret_cast<int4*>(arguments.blocks);
  blocks[static_cast<std::int64_t>(layer) * vector_count + vector] =
      block_entries(slots + begin, begins[expert + 1] - begin, first);
}

}  // namespace

void unpack_maps(const MapUpdateArguments& arguments, cudaStream_t stream) {
  if (arguments.updated_layer_count == 0) {
    return;
  }
  const auto vector_count =
      static_cast<std::uint32_t>(arguments.expert_count * (arguments.block_width / 4));
  const dim3 grid((vector_count + kBlockSize - 1) / kBlockSize,
                  static_cast<std::uint32_t>(arguments.updated_layer_count));
  unpack_maps_kernel<<<grid, kBlockSize, 0, stream>>>(
      arguments,
      static_cast<std::int32_t>(staged_width(arguments.expert_count, arguments.slot_count)));
  EPLB_CUDA(cudaGetLastError());
}

KernelResources unpack_maps_resources() {
  return kernel_resources(
      "unpack_maps", reinterpret_cast<const void*>(unpack_maps_kernel),
      {.thread_count = static_cast<int>(kBlockSize), .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
