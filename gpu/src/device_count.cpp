#include "eplb/gpu/device_count.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/device_entry.hpp"

namespace eplb::gpu {

std::int32_t device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::int64_t free_device_bytes(int device) {
  const DeviceEntry entry(device);
  std::size_t free = 0;
  std::size_t total = 0;
  EPLB_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

}  // namespace eplb::gpu
