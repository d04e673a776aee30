#include "eplb/gpu/error.hpp"
#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

constexpr int kBlockSize = 256;
constexpr int kWarpSize = 32;
constexpr int kWarpsPerBlock = kBlockSize / kWarpSize;

/// One thread moves four counts; those behind the last whole four go one by one.
__device__ void move_counts(std::int32_t* pass, std::int32_t* snapshot, std::uint32_t count,
                            std::uint32_t thread) {
  const std::uint32_t vector_count = count / 4;
  if (thread < vector_count) {
    auto* vectors = reinterpret_cast<int4*>(pass);
    if (snapshot != nullptr) {
      reinterpret_cast<int4*>(snapshot)[thread] = vectors[thread];
    }
    vectors[thread] = int4{0, 0, 0, 0};
  } else if (const std::uint32_t index = vector_count * 3 + thread; index < count) {
    // The threads behind the vectors' take the rest: index = 4 vectors + (thread - vectors).
    if (snapshot != nullptr) {
      snapshot[index] = pass[index];
    }
    pass[index] = 0;
  }
}

/// One warp adds up and clears the slots of one rank in one layer.
__device__ void take_rank_load(const StepArguments& arguments, std::uint32_t rank_of_layer) {
  const std::uint32_t lane = threadIdx.x % kWarpSize;
  std::int32_t* slots = arguments.pass_slot_counts +
                        static_cast<std::int64_t>(rank_of_layer) * arguments.slots_per_rank;
  std::int32_t load = 0;
  for (std::int32_t slot = lane; slot < arguments.slots_per_rank; slot += kWarpSize) {
    load += slots[slot];
    slots[slot] = 0;
  }
  load = __reduce_add_sync(0xFFFFFFFFU, load);
  if (lane == 0 && arguments.rank_loads != nullptr) {
    arguments.rank_loads[rank_of_layer] = load;
  }
}

/// The first blocks move the logical counts, the others take the ranks' loads: no block waits for
/// another.
__global__ void finish_pass_kernel(const __grid_constant__ StepArguments arguments,
                                   std::uint32_t moving_block_count) {
  if (blockIdx.x < moving_block_count) {
    move_counts(arguments.pass_counts, arguments.snapshot_counts,
                static_cast<std::uint32_t>(arguments.layer_count * arguments.expert_count),
                blockIdx.x * kBlockSize + threadIdx.x);
    return;
  }
  const std::uint32_t rank_of_layer =
      (blockIdx.x - moving_block_count) * kWarpsPerBlock + threadIdx.x / kWarpSize;
  if (rank_of_layer < static_cast<std::uint32_t>(arguments.layer_count * arguments.rank_count)) {
    take_rank_load(arguments, rank_of_layer);
  }
}

constexpr std::uint32_t div_ceil(std::uint32_t dividend, std::uint32_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

}  // namespace

void finish_pass(const StepArguments& arguments, cudaStream_t stream) {
  const auto count = static_cast<std::uint32_t>(arguments.layer_count * arguments.expert_count);
  const std::uint32_t moving_block_count = div_ceil(count / 4 + count % 4, kBlockSize);
  const std::uint32_t rank_block_count =
      arguments.pass_slot_counts == nullptr
          ? 0
          : div_ceil(static_cast<std::uint32_t>(arguments.layer_count * arguments.rank_count),
                     kWarpsPerBlock);
  const std::uint32_t block_count = moving_block_count + rank_block_count;
  if (block_count == 0) {
    return;  // A pipeline stage without a layer of experts.
  }
  finish_pass_kernel<<<block_count, kBlockSize, 0, stream>>>(arguments, moving_block_count);
  EPLB_CUDA(cudaGetLastError());
}

KernelResources finish_pass_resources() {
  return kernel_resources("finish_pass", reinterpret_cast<const void*>(finish_pass_kernel),
                          {.thread_count = kBlockSize, .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
