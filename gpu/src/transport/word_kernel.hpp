#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace eplb::gpu {

/// Writes `value` to a word of pinned memory when the stream gets there, by a kernel of one thread.
/// It takes a place on a multiprocessor, so it is for drivers alone that do not write words.
[[nodiscard]] cudaError_t write_word_by_kernel(std::uint64_t* word, std::uint64_t value,
                                               cudaStream_t stream);

}  // namespace eplb::gpu
