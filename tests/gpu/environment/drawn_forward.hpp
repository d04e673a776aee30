#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "draw.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu::test {

/// What a forward counts on one rank.
struct PassCounts {
  LoadMatrix logical;   ///< [layers, experts].
  LoadMatrix physical;  ///< [layers, slots].
};

/// Forwards that map and count drawn picks and do nothing else. All picks are on the device from
/// the start, so that to launch a forward waits for nothing.
class DrawnForward {
 public:
  /// Forwards that differ in their picks, each with other hot experts.
  static constexpr std::int32_t kKinds = 8;

  DrawnForward(const Shape& shape, Draw& draw, cudaStream_t stream);

  /// Enqueues one; `mapping_of` says how each layer is mapped.
  void launch(std::int32_t kind, const std::function<LayerMapping(LayerId)>& mapping_of,
              cudaStream_t stream) const;

  /// What it counts while the gate is open, by the references of the host. `maps` [layers] are
  /// those in force; choice, rank and layer are taken from `mapping_of`.
  [[nodiscard]] PassCounts counts(std::int32_t kind,
                                  const std::function<LayerMapping(LayerId)>& mapping_of,
                                  const std::vector<LayerMap>& maps) const;

 private:
  [[nodiscard]] std::size_t index_of(std::int32_t kind, std::int32_t layer) const;

  Shape shape_;
  std::vector<std::vector<std::int64_t>> picks_;  ///< [kinds * layers][rows * top_k]
  std::vector<DeviceBuffer<std::int64_t>> ids_;
  DeviceBuffer<std::int64_t> slot_ids_;
};

/// The maps of a placement, [layers].
[[nodiscard]] std::vector<LayerMap> maps_of(const Placement& placement);

}  // namespace eplb::gpu::test
