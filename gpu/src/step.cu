#include "eplb/gpu/error.hpp"
#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 256;
constexpr std::uint32_t kWarpSize = 32;

__device__ void move_counts(const StepArguments& arguments, std::uint32_t thread,
                            std::uint32_t count) {
  const std::uint32_t vector_count = count / 4;
  std::int32_t* pass = arguments.pass_counts;
  std::int32_t* snapshot = arguments.snapshot_counts;
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

/// A warp moves a rank's counters of a layer, and sums them.
__device__ void move_and_sum(const StepArguments& arguments, std::int32_t plain_count,
                             std::int32_t sum_index) {
  const std::int32_t first = plain_count + sum_index * arguments.slots_per_rank;
  std::int32_t sum = 0;
  for (std::int32_t slot = threadIdx.x % kWarpSize; slot < arguments.slots_per_rank;
       slot += kWarpSize) {
    const std::int32_t count = arguments.pass_counts[first + slot];
    if (arguments.snapshot_counts != nullptr) {
      arguments.snapshot_counts[first + slot] = count;
    }
    arguments.pass_counts[first + slot] = 0;
    sum += count;
  }
  sum = __reduce_add_sync(0xFFFFFFFFU, sum);
  if (threadIdx.x % kWarpSize == 0) {
    arguments.rank_sums[sum_index] = sum;
  }
}

/// One thread moves four plain counts; those behind the last whole four go one by one. The blocks
/// behind theirs have a warp for each sum.
__global__ void finish_pass_kernel(const __grid_constant__ StepArguments arguments,
                                   std::int32_t plain_count, std::uint32_t plain_block_count) {
  if (blockIdx.x < plain_block_count) {
    move_counts(arguments, blockIdx.x * kBlockSize + threadIdx.x,
                static_cast<std::uint32_t>(plain_count));
    return;
  }
  const auto sum_index = static_cast<std::int32_t>(
      ((blockIdx.x - plain_block_count) * kBlockSize + threadIdx.x) / kWarpSize);
  if (sum_index < arguments.rank_sum_count) {
    move_and_sum(arguments, plain_count, sum_index);
  }
}

std::uint32_t blocks_for(std::int32_t thread_count) {
  return (static_cast<std::uint32_t>(thread_count) + kBlockSize - 1) / kBlockSize;
}

}  // namespace

void finish_pass(const StepArguments& arguments, cudaStream_t stream) {
  const std::int32_t plain = arguments.plain_count();
  const std::uint32_t plain_block_count = blocks_for(plain / 4 + plain % 4);
  const std::uint32_t block_count =
      plain_block_count + blocks_for(arguments.rank_sum_count * static_cast<int>(kWarpSize));
  if (block_count == 0) {
    return;  // A pipeline stage without a layer of experts.
  }
  finish_pass_kernel<<<block_count, kBlockSize, 0, stream>>>(arguments, plain, plain_block_count);
  EPLB_CUDA(cudaGetLastError());
}

KernelResources finish_pass_resources() {
  return kernel_resources(
      "finish_pass", reinterpret_cast<const void*>(finish_pass_kernel),
      {.thread_count = static_cast<int>(kBlockSize), .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
