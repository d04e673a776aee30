#include "bench_kernel.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/kernel_resources.hpp"

namespace eplb::gpu::test {
namespace {

__global__ void copy_memory_kernel(uint4* to, const uint4* from, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count;
       at += step) {
    to[at] = from[at];
  }
}

}  // namespace

void copy_memory(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  constexpr unsigned kThreads = 512;
  const auto blocks = static_cast<unsigned>(multiprocessor_count()) * 4;
  copy_memory_kernel<<<blocks, kThreads, 0, stream>>>(
      static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes / sizeof(uint4));
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu::test
