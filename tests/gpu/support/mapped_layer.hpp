#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "draw.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {

struct LayerSizes {
  std::int32_t expert_count;
  std::int32_t slot_count;
};

/// Of the models that the project is made for; the first without redundant slots.
inline constexpr std::array kLayerSizes{
    LayerSizes{.expert_count = 64, .slot_count = 64},
    LayerSizes{.expert_count = 256, .slot_count = 288},
    LayerSizes{.expert_count = 384, .slot_count = 400},
    LayerSizes{.expert_count = 384, .slot_count = 416},
    LayerSizes{.expert_count = 896, .slot_count = 960},
};

/// A layer's map on the host and on the device.
struct MappedLayer {
  MappedLayer(LayerSizes layer_sizes, cudaStream_t stream, Draw& draw)
      : sizes(layer_sizes),
        shape(shape_of(sizes.expert_count, sizes.slot_count)),
        map(draw_map(shape, draw)),
        device_maps({.shape = shape, .with_shares = true}, stream) {
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    device_maps.update({&update, 1});
  }

  LayerSizes sizes;
  Shape shape;
  LayerMap map;
  DeviceMaps device_maps;
};

}  // namespace eplb::gpu::test
