#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/layer_map_view.hpp"

namespace eplb::gpu {

/// New maps of some layers, as they cross to the device. `staged` may be pinned host memory, which
/// the kernel then reads over the link itself; all other pointers are device memory.
///
/// NOTE [staged maps] A map is mostly padding: 20 KB for 256 experts with up to 33 replicas,
/// against 2 KB of what it says. So an update crosses packed, and the kernel unpacks it:
///   staged(i) = [layer, begin_0, ..., begin_{E-1}, begin_E, slots of expert 0, of expert 1, ...]
/// in int32, where the slots of expert e are those from begin_e up to begin_{e+1}. With shares, the
/// cumulative units of each slot's replica stand behind, [slots] in the same order.
struct MapUpdateArguments {
  const std::int32_t* staged = nullptr;  ///< [updated layers, staged_width]
  std::int32_t updated_layer_count = 0;
  MapEntry* maps = nullptr;  ///< [layers, map_entries]; see LayerMapView.
  std::int32_t expert_count = 0;
  std::int32_t slot_count = 0;
  std::int32_t tail_width = 0;
  MapEntry* thresholds = nullptr;  ///< [layers, experts, threshold_width]; null without shares.
  std::int32_t threshold_width = 0;
};

/// int32 of one staged layer.
[[nodiscard]] constexpr std::size_t staged_width(std::int32_t expert_count, std::int32_t slot_count,
                                                 bool with_shares) {
  const auto slots = static_cast<std::size_t>(slot_count);
  return static_cast<std::size_t>(expert_count) + 2 + (with_shares ? 2 * slots : slots);
}

/// One launch for all updated layers, that a graph can capture. Must be ordered on the stream of
/// the forwards that read the maps.
void unpack_maps(const MapUpdateArguments& arguments, cudaStream_t stream);

[[nodiscard]] KernelResources unpack_maps_resources();

}  // namespace eplb::gpu
