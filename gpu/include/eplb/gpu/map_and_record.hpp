#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu {

/// One layer's ids on their way from the router to the experts. All pointers are device memory, and
/// what they point at may change between replays of a graph. `Id` is std::int32_t or std::int64_t.
template <typename Id>
struct MapArguments {
  const Id* logical_ids = nullptr;  ///< [rows, top_k]
  Id* slot_ids = nullptr;           ///< [rows, top_k], written in full; may be logical_ids.
  std::int32_t row_count = 0;
  std::int32_t top_k = 0;

  LayerMapping mapping;
  const std::uint8_t* is_padding = nullptr;  ///< [rows], not 0: ids become -1, not counted.
};

/// How the ids are spread over the device. Not a matter of results.
struct MapLaunch {
  std::int32_t ids_per_thread = 1;  ///< 1, 2 or 4: neighbours, loaded at once.
  std::int32_t block_size = 512;
};

/// What measured best for so many ids.
[[nodiscard]] MapLaunch default_map_launch(std::int64_t id_count);

/// Maps logical ids to slots and counts them, in one launch that a graph can capture. Invalid ids
/// (negative, or not below the expert count) become -1 and are not counted. No launch without rows.
/// Throws std::invalid_argument on sizes beyond the limits.
template <typename Id>
void map_and_record(const MapArguments<Id>& arguments, const MapLaunch& launch,
                    cudaStream_t stream);

template <typename Id>
void map_and_record(const MapArguments<Id>& arguments, cudaStream_t stream) {
  map_and_record(
      arguments,
      default_map_launch(static_cast<std::int64_t>(arguments.row_count) * arguments.top_k), stream);
}

/// Every variant of the kernel, as launched for so many experts and slots.
[[nodiscard]] std::vector<KernelResources> map_and_record_resources(std::int32_t expert_count,
                                                                    std::int32_t slot_count);

}  // namespace eplb::gpu
