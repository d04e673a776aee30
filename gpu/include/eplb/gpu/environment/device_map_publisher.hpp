#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <vector>

#include "eplb/core/env/map_publisher.hpp"
#include "eplb/gpu/device_maps.hpp"

namespace eplb::gpu {

struct MapPublisherOptions {
  DeviceMaps::Options maps;
  int device = 0;
};

/// The maps that this rank's forwards look up.
///
/// NOTE [noted maps] publish() only notes a map, and flush() sends all that were noted in one
/// kernel on the stream of the forwards: a step that commits many layers pays for one launch. The
/// core's contract holds all the same. It asks that a map takes its place in that stream's order
/// behind what was enqueued before, and before the next forward; nothing but forwards reads maps,
/// and the copies of the commit that a map belongs to were enqueued before publish() was called.
/// So a map may move back in the stream as long as no forward comes between. Of a layer that is
/// published twice in between, the newer map counts.
class DeviceMapPublisher final : public env::MapPublisher {
 public:
  /// `forward` outlives it. Until the first flush every expert has 0 replicas.
  DeviceMapPublisher(const MapPublisherOptions& options, cudaStream_t forward);

  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override;

  /// Called by whoever launches forwards, after on_step and before the next forward. Free if
  /// nothing was published. Throws as DeviceMaps::update.
  void flush();

  /// What a forward reads; its addresses stay.
  [[nodiscard]] LayerMapView view(LayerId layer) const { return maps_.view(layer); }

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

 private:
  int device_;
  DeviceMaps maps_;
  std::map<LayerId, LayerMap> noted_;
  std::vector<LayerMapUpdate> updates_;  ///< Kept to save allocations.
};

}  // namespace eplb::gpu
