#include "eplb/gpu/environment/device_map_publisher.hpp"

#include "eplb/gpu/memory/device_entry.hpp"

namespace eplb::gpu {
namespace {

DeviceMaps maps_of(const MapPublisherOptions& options, cudaStream_t forward) {
  const DeviceEntry entry(options.device);
  return {options.maps, forward};
}

}  // namespace

DeviceMapPublisher::DeviceMapPublisher(const MapPublisherOptions& options, cudaStream_t forward)
    : device_(options.device), maps_(maps_of(options, forward)) {}

void DeviceMapPublisher::publish(LayerId layer, const LayerMap& map,
                                 env::PlacementEpoch /*epoch*/) {
  noted_.insert_or_assign(layer, map);
}

void DeviceMapPublisher::flush() {
  if (noted_.empty()) {
    return;
  }
  const DeviceEntry entry(device_);
  updates_.clear();
  updates_.reserve(noted_.size());
  for (const auto& [layer, map] : noted_) {
    updates_.push_back({.layer = layer, .map = &map});
  }
  maps_.update(updates_);
  noted_.clear();
}

void DeviceMapPublisher::check() {
  const DeviceEntry entry(device_);
  maps_.check();
}

}  // namespace eplb::gpu
