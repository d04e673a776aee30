#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "eplb/core/layer_map.hpp"
#include "eplb/gpu/layer_map_view.hpp"

namespace eplb::gpu {

/// What a device must hold for a map: heads of all experts, then their tails.
[[nodiscard]] std::vector<MapEntry> entries_of(const LayerMap& map, std::int32_t tail_width);

/// Thresholds of all experts; a map without shares has even ones.
[[nodiscard]] std::vector<MapEntry> thresholds_of(const LayerMap& map,
                                                  std::int32_t threshold_width);

/// Whether the device's map is this one, with its shares if it has any, behind what the stream was
/// asked to do; blocks.
[[nodiscard]] bool holds(const LayerMapView& view, const LayerMap& map, cudaStream_t stream);

}  // namespace eplb::gpu
