#include "eplb/gpu/device_maps.hpp"

#include <algorithm>
#include <stdexcept>

#include "eplb/gpu/bounded_wait.hpp"

namespace eplb::gpu {
namespace {

std::size_t size_of(std::int32_t count) {
  return static_cast<std::size_t>(count);
}

std::int32_t or_default(std::int32_t value, std::int32_t default_value) {
  return value > 0 ? value : default_value;
}

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(what);
  }
}

}  // namespace

std::uint32_t threshold_of(const LayerMap& map, LogicalExpertId expert, std::uint32_t replica) {
  return map.has_shares()
             ? map.thresholds(expert)[replica]
             : even_threshold(replica, static_cast<std::uint32_t>(map.replica_count(expert)));
}

DeviceMaps::DeviceMaps(const Options& options, cudaStream_t stream)
    : shape_(options.shape),
      replica_count_max_(
          or_default(options.replica_count_max, LayerMap::slots_width(options.shape))),
      tail_width_(tail_width_for(replica_count_max_)),
      threshold_width_(options.with_shares ? threshold_width_for(replica_count_max_) : 0),
      updated_layer_count_max_(
          or_default(options.updated_layer_count_max, options.shape.layer_count)),
      stream_(stream),
      maps_(size_of(shape_.layer_count) * map_entries(shape_.expert_count, tail_width_)),
      thresholds_(size_of(shape_.layer_count) * size_of(shape_.expert_count) *
                  size_of(threshold_width_)),
      host_staged_(kUpdatesMax * size_of(updated_layer_count_max_) * width()),
      timeline_({stream}) {
  require(shape_.slot_count() < kNoSlot, "more slots than a map's entries can name");
  maps_.fill_bytes(0, stream_);
  if (threshold_width_ > 0) {
    thresholds_.fill_bytes(0, stream_);
  }
}

LayerMapView DeviceMaps::view(LayerId layer) const {
  require(layer.value >= 0 && layer.value < shape_.layer_count, "no such layer");
  const MapEntry* heads =
      maps_.data() + layer.index() * map_entries(shape_.expert_count, tail_width_);
  return {.heads = heads,
          .tails = heads + map_entries(shape_.expert_count, 0),
          .expert_count = shape_.expert_count,
          .tail_width = tail_width_,
          .thresholds = threshold_width_ == 0
                            ? nullptr
                            : thresholds_.data() + layer.index() * size_of(shape_.expert_count) *
                                                       size_of(threshold_width_),
          .threshold_width = threshold_width_};
}

std::size_t DeviceMaps::width() const {
  return staged_width(shape_.expert_count, shape_.slot_count(), threshold_width_ > 0);
}

void DeviceMaps::update(std::span<const LayerMapUpdate> updates) {
  if (updates.empty()) {
    return;
  }
  require(updates.size() <= size_of(updated_layer_count_max_), "too many layers in one update");
  const std::size_t ring_width = size_of(updated_layer_count_max_) * width();
  const std::span<std::int32_t> staged =
      host_staged_.span().subspan(ring_slot() * ring_width, ring_width);
  for (std::size_t index = 0; index < updates.size(); ++index) {
    stage(updates[index], staged.subspan(index * width(), width()));
  }
  unpack_maps({.staged = staged.data(),
               .updated_layer_count = static_cast<std::int32_t>(updates.size()),
               .maps = maps_.data(),
               .expert_count = shape_.expert_count,
               .slot_count = shape_.slot_count(),
               .tail_width = tail_width_,
               .thresholds = threshold_width_ == 0 ? nullptr : thresholds_.data(),
               .threshold_width = threshold_width_},
              stream_);
  timeline_.mark(timeline_.next());
}

// The kernel reads the pinned memory when the stream gets there, not now, so that the memory of an
// update is free once the update that had it before is done.
std::size_t DeviceMaps::ring_slot() const {
  const std::int64_t next = timeline_.newest().value + 1;
  const env::Ticket had_it{next - static_cast<std::int64_t>(kUpdatesMax)};
  if (had_it.value > 0) {
    wait_for_device("an update of maps has to wait for an earlier one",
                    [&] { return timeline_.poll(had_it) != env::Completion::kPending; });
  }
  return static_cast<std::size_t>(next) % kUpdatesMax;
}

void DeviceMaps::stage(const LayerMapUpdate& update, std::span<std::int32_t> staged) const {
  require(update.layer.value >= 0 && update.layer.value < shape_.layer_count, "no such layer");
  require(update.map->expert_count() == shape_.expert_count, "a map of another shape");
  const std::size_t slots_begin = size_of(shape_.expert_count) + 2;
  std::size_t slot_total = 0;
  staged[0] = update.layer.value;
  for (std::int32_t expert = 0; expert < shape_.expert_count; ++expert) {
    const std::span<const std::int32_t> slots = update.map->slots(LogicalExpertId{expert});
    require(slots.size() <= size_of(replica_count_max_), "more replicas than were reserved for");
    require(slot_total + slots.size() <= size_of(shape_.slot_count()), "a map of another shape");
    staged[1 + size_of(expert)] = static_cast<std::int32_t>(slot_total);
    std::ranges::copy(slots, staged.subspan(slots_begin + slot_total).begin());
    const std::size_t units_begin = slots_begin + size_of(shape_.slot_count()) + slot_total;
    for (std::size_t replica = 0; threshold_width_ > 0 && replica + 1 < slots.size(); ++replica) {
      staged[units_begin + replica] = static_cast<std::int32_t>(
          threshold_of(*update.map, LogicalExpertId{expert}, static_cast<std::uint32_t>(replica)));
    }
    slot_total += slots.size();
  }
  staged[slots_begin - 1] = static_cast<std::int32_t>(slot_total);
}

}  // namespace eplb::gpu
