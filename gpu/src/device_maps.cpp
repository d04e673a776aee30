#include "eplb/gpu/device_maps.hpp"

#include <algorithm>
#include <stdexcept>

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

DeviceMaps::DeviceMaps(const Options& options, cudaStream_t stream)
    : shape_(options.shape),
      block_width_(block_width_for(
          or_default(options.replica_count_max, LayerMap::slots_width(options.shape)))),
      updated_layer_count_max_(
          or_default(options.updated_layer_count_max, options.shape.layer_count)),
      blocks_(size_of(shape_.layer_count) * size_of(shape_.expert_count) * size_of(block_width_)),
      host_staged_(size_of(updated_layer_count_max_) *
                   staged_width(shape_.expert_count, shape_.slot_count())) {
  require(shape_.slot_count() < kNoSlot, "more slots than a map's entries can name");
  blocks_.fill_bytes(0, stream);
}

LayerMapView DeviceMaps::view(LayerId layer) const {
  require(layer.value >= 0 && layer.value < shape_.layer_count, "no such layer");
  return {.blocks =
              blocks_.data() + layer.index() * size_of(shape_.expert_count) * size_of(block_width_),
          .expert_count = shape_.expert_count,
          .block_width = block_width_};
}

void DeviceMaps::update(std::span<const LayerMapUpdate> updates, cudaStream_t stream) {
  if (updates.empty()) {
    return;
  }
  require(updates.size() <= size_of(updated_layer_count_max_), "too many layers in one update");
  // The kernel reads the pinned memory when the stream gets there, not now. Updates lie many steps
  // apart, so in practice nobody waits here.
  unpacked_.synchronize();
  const std::size_t width = staged_width(shape_.expert_count, shape_.slot_count());
  for (std::size_t index = 0; index < updates.size(); ++index) {
    stage(updates[index], host_staged_.span().subspan(index * width, width));
  }
  unpack_maps({.staged = host_staged_.data(),
               .updated_layer_count = static_cast<std::int32_t>(updates.size()),
               .blocks = blocks_.data(),
               .expert_count = shape_.expert_count,
               .slot_count = shape_.slot_count(),
               .block_width = block_width_},
              stream);
  unpacked_.record(stream);
}

void DeviceMaps::stage(const LayerMapUpdate& update, std::span<std::int32_t> staged) const {
  require(update.layer.value >= 0 && update.layer.value < shape_.layer_count, "no such layer");
  require(update.map->expert_count() == shape_.expert_count, "a map of another shape");
  const std::size_t slots_begin = size_of(shape_.expert_count) + 2;
  std::size_t slot_total = 0;
  staged[0] = update.layer.value;
  for (std::int32_t expert = 0; expert < shape_.expert_count; ++expert) {
    const std::span<const std::int32_t> slots = update.map->slots(LogicalExpertId{expert});
    require(slots.size() < size_of(block_width_), "more replicas than a block holds");
    require(slot_total + slots.size() <= size_of(shape_.slot_count()), "a map of another shape");
    staged[1 + size_of(expert)] = static_cast<std::int32_t>(slot_total);
    std::ranges::copy(slots, staged.subspan(slots_begin + slot_total).begin());
    slot_total += slots.size();
  }
  staged[slots_begin - 1] = static_cast<std::int32_t>(slot_total);
}

}  // namespace eplb::gpu
