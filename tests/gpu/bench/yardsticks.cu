#include "eplb/gpu/device/mapping.cuh"
#include "eplb/gpu/error.hpp"
#include "yardsticks.hpp"

namespace eplb::gpu::bench {
namespace {

constexpr unsigned kBlockSize = 256;

unsigned blocks_for(std::int64_t thread_count) {
  return static_cast<unsigned>((thread_count + kBlockSize - 1) / kBlockSize);
}

template <typename Id>
__global__ void global_atomics_kernel(const __grid_constant__ MapArguments<Id> arguments) {
  const auto top_k = static_cast<std::uint32_t>(arguments.top_k);
  const std::uint32_t pick = blockIdx.x * kBlockSize + threadIdx.x;
  if (pick >= static_cast<std::uint32_t>(arguments.row_count) * top_k) {
    return;
  }
  const LayerMapping& mapping = arguments.mapping;
  const std::int32_t expert =
      device::expert_of(arguments.logical_ids[pick], mapping.map.expert_count);
  if (expert < 0) {
    arguments.slot_ids[pick] = -1;
    return;
  }
  const std::uint32_t row = pick / top_k;
  const device::HeldHead head{mapping.map.heads + expert * kHeadEntries};
  const std::int32_t slot = device::chosen_slot<false>(mapping, head, expert, row);
  arguments.slot_ids[pick] = slot;
  if (row < device::recorded_row_count(mapping)) {
    atomicAdd(&mapping.logical_counts[expert], 1);
    if (mapping.slot_counts != nullptr) {
      atomicAdd(&mapping.slot_counts[slot], 1);
    }
  }
}

__global__ void copy_kernel(const int4* from, int4* to, std::int64_t count) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (index < count) {
    to[index] = from[index];
  }
}

}  // namespace

template <typename Id>
void map_with_global_atomics(const MapArguments<Id>& arguments, cudaStream_t stream) {
  const auto id_count = static_cast<std::int64_t>(arguments.row_count) * arguments.top_k;
  global_atomics_kernel<Id><<<blocks_for(id_count), kBlockSize, 0, stream>>>(arguments);
  EPLB_CUDA(cudaGetLastError());
}

template void map_with_global_atomics(const MapArguments<std::int32_t>&, cudaStream_t);
template void map_with_global_atomics(const MapArguments<std::int64_t>&, cudaStream_t);

void copy_ids(const std::int32_t* from, std::int32_t* to, std::int64_t count, cudaStream_t stream) {
  const std::int64_t vector_count = count / 4;
  copy_kernel<<<blocks_for(vector_count), kBlockSize, 0, stream>>>(
      reinterpret_cast<const int4*>(from), reinterpret_cast<int4*>(to), vector_count);
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu::bench
