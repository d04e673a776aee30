#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"
#include "eplb/core/layer_map.hpp"

namespace eplb::env {

/// Version of a layer's placement; one more at each commit.
using PlacementEpoch = std::int64_t;

/// Makes a layer's map visible to the forwards that start after the call, never to a running one.
class MapPublisher {
 public:
  MapPublisher() = default;
  MapPublisher(const MapPublisher&) = delete;
  MapPublisher& operator=(const MapPublisher&) = delete;
  MapPublisher(MapPublisher&&) = delete;
  MapPublisher& operator=(MapPublisher&&) = delete;
  virtual ~MapPublisher() = default;

  /// Appends to the rank's forward queue: `map` becomes what forwards look up, in place.
  virtual void publish(LayerId layer, const LayerMap& map, PlacementEpoch epoch) = 0;
};

}  // namespace eplb::env
