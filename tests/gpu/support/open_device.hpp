#pragma once

#include <cuda_runtime_api.h>

#include <optional>

namespace eplb::gpu::test {

/// How a program ends that has found no device.
inline constexpr int kSkipped = 77;

/// The properties of the first device, told on stdout; none where there is no device or no driver
/// for it, which is told as well. Throws CudaError if a device is there and fails.
[[nodiscard]] std::optional<cudaDeviceProp> open_device();

}  // namespace eplb::gpu::test
