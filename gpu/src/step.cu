#include <stdexcept>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 128;
constexpr std::uint32_t kWarpSize = 32;

__device__ int4 operator+(const int4& left, const int4& right) {
  return {left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w};
}

/// What stands before the counters that have one stripe.
__device__ std::int32_t more_stripes(const StepArguments& arguments) {
  return (arguments.stripe_count - 1) * arguments.striped_count;
}

/// Four counters that begin at `first`, added up over their stripes, which are cleared. All are
/// loaded before any is cleared: the compiler cannot know that stripes do not overlap.
__device__ int4 take_four(const StepArguments& arguments, std::int32_t first) {
  const bool is_striped = first < arguments.striped_count;
  const std::int32_t begin = is_striped ? first : first + more_stripes(arguments);
  const std::int32_t stripes = is_striped ? arguments.stripe_count : 1;
  const auto at = [&](std::int32_t stripe) {
    return reinterpret_cast<int4*>(arguments.pass_counts + begin +
                                   stripe * arguments.striped_count);
  };
  int4 parts[kStripesMax];
#pragma unroll
  for (std::int32_t stripe = 0; stripe < kStripesMax; ++stripe) {
    parts[stripe] = stripe < stripes ? *at(stripe) : int4{0, 0, 0, 0};
  }
  int4 sum{0, 0, 0, 0};
#pragma unroll
  for (std::int32_t stripe = 0; stripe < kStripesMax; ++stripe) {
    sum = sum + parts[stripe];
    if (stripe < stripes) {
      *at(stripe) = int4{0, 0, 0, 0};
    }
  }
  return sum;
}

__device__ void move_counts(const StepArguments& arguments, std::uint32_t thread,
                            std::uint32_t count) {
  const std::uint32_t vector_count = count / 4;
  std::int32_t* snapshot = arguments.snapshot_counts;
  if (thread < vector_count) {
    const int4 counts = take_four(arguments, static_cast<std::int32_t>(4 * thread));
    if (snapshot != nullptr) {
      reinterpret_cast<int4*>(snapshot)[thread] = counts;
    }
  } else if (const std::uint32_t index = vector_count * 3 + thread; index < count) {
    // The threads behind the vectors' take the rest: index = 4 vectors + (thread - vectors).
    std::int32_t* counter = arguments.pass_counts + more_stripes(arguments) + index;
    if (snapshot != nullptr) {
      snapshot[index] = *counter;
    }
    *counter = 0;
  }
}

/// A warp moves a rank's counters of a layer, and sums them.
__device__ void move_and_sum(const StepArguments& arguments, std::int32_t plain_count,
                             std::int32_t sum_index) {
  const std::int32_t first = plain_count + sum_index * arguments.slots_per_rank;
  std::int32_t* pass = arguments.pass_counts + more_stripes(arguments) + first;
  std::int32_t sum = 0;
  for (std::int32_t slot = threadIdx.x % kWarpSize; slot < arguments.slots_per_rank;
       slot += kWarpSize) {
    const std::int32_t count = pass[slot];
    if (arguments.snapshot_counts != nullptr) {
      arguments.snapshot_counts[first + slot] = count;
    }
    pass[slot] = 0;
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
  if (arguments.stripe_count < 1 || arguments.stripe_count > kStripesMax ||
      arguments.striped_count % 4 != 0) {
    throw std::invalid_argument("finish_pass: 1 to 8 stripes of whole fours of counters");
  }
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
