#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace eplb::gpu::bench {

/// The launch that a row mask costs where mapping knows none: ids of padding rows become -1.
void mask_ids(const std::int64_t* ids, const std::uint8_t* is_padding, std::int64_t* masked,
              std::int32_t row_count, std::int32_t top_k, cudaStream_t stream);

}  // namespace eplb::gpu::bench
