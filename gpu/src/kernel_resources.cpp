#include "eplb/gpu/kernel_resources.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu {
namespace {

int attribute(cudaDeviceAttr name) {
  int device = 0;
  int value = 0;
  EPLB_CUDA(cudaGetDevice(&device));
  EPLB_CUDA(cudaDeviceGetAttribute(&value, name, device));
  return value;
}

}  // namespace

KernelResources kernel_resources(std::string name, const void* kernel, BlockSize block) {
  cudaFuncAttributes attributes{};
  EPLB_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  int resident_blocks = 0;
  EPLB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident_blocks, kernel, block.thread_count, block.dynamic_shared_bytes));
  const int threads_max = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  return {.name = std::move(name),
          .block = block,
          .register_count = attributes.numRegs,
          .static_shared_bytes = attributes.sharedSizeBytes,
          .local_bytes = attributes.localSizeBytes,
          .blocks_per_multiprocessor = resident_blocks,
          .occupancy = static_cast<double>(resident_blocks * block.thread_count) / threads_max};
}

int multiprocessor_count() {
  return attribute(cudaDevAttrMultiProcessorCount);
}

}  // namespace eplb::gpu
