#include "open_device.hpp"

#include <cstdio>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu::test {

std::optional<cudaDeviceProp> open_device() {
  int device_count = 0;
  const cudaError_t status = cudaGetDeviceCount(&device_count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    std::printf("skipped: no device (%s)\n", cudaGetErrorString(status));
    return std::nullopt;
  }
  EPLB_CUDA(status);
  cudaDeviceProp properties{};
  EPLB_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  return properties;
}

}  // namespace eplb::gpu::test
