#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eplb::gpu::test {

/// A kernel that does nothing but move memory on its own device, by 16 bytes a thread: what a push
/// must not slow down. Bytes are a multiple of 16.
void copy_memory(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace eplb::gpu::test
