#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "eplb/core/ids.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/layer_map_view.hpp"
#include "eplb/gpu/map_update.hpp"
#include "eplb/gpu/transport/timeline.hpp"

namespace eplb::gpu {

/// A layer's new map, from a commit.
struct LayerMapUpdate {
  LayerId layer;
  const LayerMap* map;
};

/// Cumulative share units of the expert's replicas up to `replica`, as the device has them: the
/// map's, or even ones where it has none.
[[nodiscard]] std::uint32_t threshold_of(const LayerMap& map, LogicalExpertId expert,
                                         std::uint32_t replica);

/// The maps of all layers in device memory, at addresses that stay.
class DeviceMaps {
 public:
  struct Options {
    Shape shape;
    std::int32_t replica_count_max = 0;        ///< 0: as many as the shape allows.
    std::int32_t updated_layer_count_max = 0;  ///< Layers of one update; 0: all.
    bool with_shares = false;                  ///< Maps without shares have even ones then.
  };

  /// Updates that may be on their way before one has to wait.
  static constexpr std::size_t kUpdatesMax = 4;

  /// On the current device, for forwards on `stream`. Reserves memory and fills it with 0 replicas
  /// for every expert, until the first update.
  DeviceMaps(const Options& options, cudaStream_t stream);

  /// What a forward reads; stays valid across updates.
  [[nodiscard]] LayerMapView view(LayerId layer) const;

  /// One kernel for all layers of a step, which reads what is staged in pinned memory, on the
  /// stream of the forwards: those enqueued before read the old maps, those after the new ones.
  /// Waits on the host only while kUpdatesMax earlier updates have not run yet, and throws
  /// CudaError if that takes 10 s. Throws std::invalid_argument if a map is of another shape, has
  /// too many replicas, or if there are too many layers.
  void update(std::span<const LayerMapUpdate> updates);

  /// Looks for a fault of the device, which no wait sees; see Timeline::check.
  void check() { timeline_.check(); }

 private:
  [[nodiscard]] std::size_t ring_slot() const;
  [[nodiscard]] std::size_t width() const;  ///< Of a staged layer.
  void stage(const LayerMapUpdate& update, std::span<std::int32_t> staged) const;

  Shape shape_;
  std::int32_t replica_count_max_;
  std::int32_t tail_width_;
  std::int32_t threshold_width_;  ///< 0 without shares.
  std::int32_t updated_layer_count_max_;
  cudaStream_t stream_;
  DeviceBuffer<MapEntry> maps_;
  DeviceBuffer<MapEntry> thresholds_;
  PinnedBuffer<std::int32_t> host_staged_;  ///< A ring of kUpdatesMax updates, by ticket.
  Timeline timeline_;                       ///< A ticket is done when its update has been read.
};

}  // namespace eplb::gpu
