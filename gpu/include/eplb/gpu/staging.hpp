#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu {

/// What activations are turned into on their way to the experts (eplb-semantics 2.4). The scales of
/// a row lie one behind another, without gaps; the published int32 scales are four of their bytes.
enum class StagingFormat : std::uint8_t {
  kBf16,   ///< A copy; no scales.
  kMxfp8,  ///< E4M3 [rows, hidden]; UE8M0 [rows, hidden / 32], rounded up; amax at least 1e-4.
  kFp8,    ///< E4M3 [rows, hidden]; float [rows, hidden / 128] = amax / 448; amax at least 1e-10.
  kNvfp4,  ///< E2M1 [rows, hidden / 2], even element low; E4M3 [rows, hidden / 16], at least 2^-9.
};

/// Bytes that staging writes for so many elements, and for their scales.
[[nodiscard]] std::int64_t staged_bytes(StagingFormat format, std::int64_t element_count);
[[nodiscard]] std::int64_t scale_bytes(StagingFormat format, std::int64_t element_count);

/// One layer's rows on their way into the buffers that the experts' kernel dispatches from. All
/// pointers are device memory, and what they point at may change between replays of a graph. `Id`
/// is std::int32_t or std::int64_t.
template <typename Id>
struct StagingArguments {
  StagingFormat format = StagingFormat::kBf16;
  const std::uint16_t* activations = nullptr;  ///< BF16 [rows, hidden], 16-byte aligned.
  std::int32_t row_count = 0;
  std::int32_t hidden_size = 0;  ///< A multiple of 128; for kNvfp4 of 256.
  void* staged = nullptr;        ///< 16-byte aligned.
  void* scales = nullptr;        ///< 4-byte aligned; unused by kBf16.

  const Id* logical_ids = nullptr;        ///< [rows, top_k]
  const float* router_weights = nullptr;  ///< [rows, top_k]
  std::int32_t top_k = 0;
  float weight_factor = 1.0F;         ///< Folded into the weights that are written.
  std::int64_t* slot_ids = nullptr;   ///< [filled rows, top_k]; -1 for padding and invalid ids.
  float* staged_weights = nullptr;    ///< [filled rows, top_k]; 0 for padding, even if NaN came in.
  std::int32_t filled_row_count = 0;  ///< Rows from row_count to here are written as padding.

  LayerMapping mapping;  ///< Without a map, ids are copied as they are and nothing is counted.
  const std::uint8_t* is_padding = nullptr;  ///< [rows], not 0: a padding row.
};

/// Stages activations, ids and weights, maps and counts, in one launch that a graph can capture.
/// Slots and counts are those of map_and_record. No launch without rows to write. Throws
/// std::invalid_argument on sizes or alignments beyond the limits.
template <typename Id>
void stage(const StagingArguments<Id>& arguments, cudaStream_t stream);

/// Every variant of the kernel.
[[nodiscard]] std::vector<KernelResources> staging_resources();

}  // namespace eplb::gpu
