#pragma once

#include <cstdint>

namespace eplb::gpu {

/// GPUs of this process; 0 without a driver that this was built for.
[[nodiscard]] std::int32_t device_count();

/// Memory of a device that nothing takes now. Throws CudaError if there is no such device.
[[nodiscard]] std::int64_t free_device_bytes(int device);

}  // namespace eplb::gpu
