#pragma once

namespace eplb::gpu::test {

/// Devices of this machine, 0 without a driver. Asked in a process of its own: whoever has touched
/// CUDA cannot fork ranks any more.
[[nodiscard]] int count_devices();

}  // namespace eplb::gpu::test
