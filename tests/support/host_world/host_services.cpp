#include "host_services.hpp"

#include <utility>

namespace eplb::test {

void HostLoadRecorder::count(LoadMatrix logical, LoadMatrix physical) {
  open_.logical = std::move(logical);
  open_.physical = std::move(physical);
}

void HostLoadRecorder::close_pass(std::int64_t step, env::PassUse use) {
  constexpr std::uint64_t kReadBackNsMax = 300'000;
  if (use.record || use.log) {
    open_.step = step;
    open_.use = use;
    if (use.dummy) {
      open_.logical.setZero();
      open_.physical.setZero();
    }
    if (!use.log) {
      open_.physical.resize(0, 0);
    }
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const auto delay_ns = static_cast<std::int64_t>((random_ >> 33U) % kReadBackNsMax);
    landings_.push_back({.landed_ns = clock_.now_ns() + delay_ns, .pass = std::move(open_)});
  }
  open_ = {};
}

const env::RecordedPass* HostLoadRecorder::try_take() {
  if (landings_.empty() || landings_.front().landed_ns > clock_.now_ns()) {
    return nullptr;
  }
  taken_ = std::move(landings_.front().pass);
  landings_.pop_front();
  return &taken_;
}

HostMaps::HostMaps(WorkerQueue& forward, const Placement& initial) : forward_(forward) {
  maps_.reserve(initial.layers().size());
  for (const LayerPlacement& layer : initial.layers()) {
    maps_.push_back(LayerMap::from(layer));
  }
}

void HostMaps::publish(LayerId layer, const LayerMap& map, env::PlacementEpoch /*epoch*/) {
  forward_.append([this, layer, map] {
    maps_[layer.index()] = map;
    return true;
  });
}

}  // namespace eplb::test
