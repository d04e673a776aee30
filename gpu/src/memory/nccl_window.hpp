#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>

namespace eplb::gpu {

/// Writes where each of the first `count` ranks' memory of a window lies, in this process's
/// addresses, to pinned memory.
///
/// NOTE [window addresses] NCCL 2.28 tells addresses of a window to kernels alone; from 2.29 on the
/// host may ask. Copy engines take the very same addresses.
[[nodiscard]] cudaError_t write_window_addresses(ncclWindow_t window, std::byte** addresses,
                                                 int count, cudaStream_t stream);

}  // namespace eplb::gpu
