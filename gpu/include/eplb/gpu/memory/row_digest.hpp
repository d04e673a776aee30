#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "eplb/core/ids.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu {

/// Tensors that an expert may have here.
inline constexpr std::size_t kTensorsMax = 16;

struct DigestOptions {
  std::int32_t first_row = 0;
  std::int32_t row_count = 0;
  /// Of 8-byte words, counted in each tensor: every n-th is read, from the `sample_start`-th on.
  /// 1 reads every byte.
  std::int32_t sample_stride = 1;
  std::int32_t sample_start = 0;  ///< In [0, sample_stride).
};

/// Digest of each row, over all its tensors: `digests` [row_count] in device memory is written
/// when the stream gets there. Whatever the launch, the same bytes give the same digest:
/// the sum of digest_term over the words read, the last of a tensor filled up with zeros. No word
/// of a row's gaps is read. Throws std::invalid_argument for options out of their ranges or more
/// than kTensorsMax tensors, CudaError if the launch fails.
void digest_rows(std::span<const WeightTensor> tensors, const DigestOptions& options,
                 std::uint64_t* digests, cudaStream_t stream);

/// Digest that rows filled for `experts` (device or pinned memory, [row_count]) must have: computed
/// without reading any row. `tensors` say sizes alone.
void digest_expected(std::span<const WeightTensor> tensors, LayerId layer,
                     const std::int32_t* experts, const DigestOptions& options,
                     std::uint64_t* digests, cudaStream_t stream);

struct FillOptions {
  LayerId layer;
  LogicalExpertId expert;
  std::int32_t row = 0;
};

/// Fills one row of all tensors with content_word for the expert. Throws as digest_rows.
void fill_row(std::span<const WeightTensor> tensors, const FillOptions& options,
              cudaStream_t stream);

}  // namespace eplb::gpu
