#include "eplb/gpu/error.hpp"
#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 256;

/// One thread moves four counts; those behind the last whole four go one by one.
__global__ void finish_pass_kernel(const __grid_constant__ StepArguments arguments) {
  const auto count = static_cast<std::uint32_t>(arguments.counter_count);
  const std::uint32_t vector_count = count / 4;
  const std::uint32_t thread = blockIdx.x * kBlockSize + threadIdx.x;
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

}  // namespace

void finish_pass(const StepArguments& arguments, cudaStream_t stream) {
  const auto count = static_cast<std::uint32_t>(arguments.counter_count);
  const std::uint32_t thread_count = count / 4 + count % 4;
  if (thread_count == 0) {
    return;  // A pipeline stage without a layer of experts.
  }
  const std::uint32_t block_count = (thread_count + kBlockSize - 1) / kBlockSize;
  finish_pass_kernel<<<block_count, kBlockSize, 0, stream>>>(arguments);
  EPLB_CUDA(cudaGetLastError());
}

KernelResources finish_pass_resources() {
  return kernel_resources(
      "finish_pass", reinterpret_cast<const void*>(finish_pass_kernel),
      {.thread_count = static_cast<int>(kBlockSize), .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
