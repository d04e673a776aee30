// Goal: an update writes the blocks of the updated layers, all of them, and no others. Method:
// drawn maps for drawn layers, the whole of the maps on the device against those of the core, after
// some of thirty updates.
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

/// The map that the device must hold for a layer, heads and then tails: zero until its first
/// update.
std::vector<MapEntry> expected_entries(const std::optional<LayerMap>& map,
                                       const LayerMapView& view) {
  std::vector<MapEntry> entries(map_entries(view.expert_count, view.tail_width), 0);
  if (!map) {
    return entries;
  }
  std::ranges::fill(entries, kNoSlot);
  for (std::int32_t expert = 0; expert < view.expert_count; ++expert) {
    const auto slots = map->slots(LogicalExpertId{expert});
    const std::uint32_t reciprocal = 0xFFFFFFFFU / static_cast<std::uint32_t>(slots.size());
    const auto head = static_cast<std::size_t>(expert) * 8;
    entries[head] = static_cast<MapEntry>(reciprocal & 0xFFFFU);
    entries[head + 1] = static_cast<MapEntry>(reciprocal >> 16U);
    entries[head + 2] = static_cast<MapEntry>(slots.size());
    const auto tail = static_cast<std::size_t>(view.expert_count) * 8 +
                      static_cast<std::size_t>(expert) * static_cast<std::size_t>(view.tail_width);
    for (std::size_t replica = 0; replica < slots.size(); ++replica) {
      entries[replica < 5 ? head + 3 + replica : tail + replica - 5] =
          static_cast<MapEntry>(slots[replica]);
    }
  }
  return entries;
}

std::vector<MapEntry> actual_entries(const LayerMapView& view, cudaStream_t stream) {
  std::vector<MapEntry> entries(map_entries(view.expert_count, view.tail_width));
  EPLB_CUDA(cudaMemcpyAsync(entries.data(), view.heads, entries.size() * sizeof(MapEntry),
                            cudaMemcpyDeviceToHost, stream));
  EPLB_CUDA(cudaStreamSynchronize(stream));
  return entries;
}

/// The thresholds likewise: cumulative units, all bits set past the last.
std::vector<MapEntry> expected_thresholds(const std::optional<LayerMap>& map,
                                          const LayerMapView& view) {
  const auto width = static_cast<std::size_t>(view.threshold_width);
  std::vector<MapEntry> entries(static_cast<std::size_t>(view.expert_count) * width,
                                map ? 0xFFFF : 0);
  for (std::int32_t expert = 0; map && expert < view.expert_count; ++expert) {
    const auto count = static_cast<std::uint32_t>(map->replica_count(LogicalExpertId{expert}));
    const auto shares = map->thresholds(LogicalExpertId{expert});
    for (std::uint32_t replica = 0; replica + 1 < count; ++replica) {
      entries[static_cast<std::size_t>(expert) * width + replica] = static_cast<MapEntry>(
          map->has_shares() ? shares[replica] : even_threshold(replica, count));
    }
  }
  return entries;
}

std::vector<MapEntry> actual_thresholds(const LayerMapView& view, cudaStream_t stream) {
  std::vector<MapEntry> entries(static_cast<std::size_t>(view.expert_count) *
                                static_cast<std::size_t>(view.threshold_width));
  EPLB_CUDA(cudaMemcpyAsync(entries.data(), view.thresholds, entries.size() * sizeof(MapEntry),
                            cudaMemcpyDeviceToHost, stream));
  EPLB_CUDA(cudaStreamSynchronize(stream));
  return entries;
}

std::int32_t most_replicas(const LayerMap& map) {
  std::int32_t most = 0;
  for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
    most = std::max(most, map.replica_count(LogicalExpertId{expert}));
  }
  return most;
}

void compare_updates(Checks& checks, const Shape& layer_shape, bool with_shares, Draw& draw) {
  constexpr std::int32_t kLayers = 11;
  constexpr std::int32_t kUpdatedMax = 8;
  constexpr int kUpdates = 30;
  const Stream stream;
  Shape shape = layer_shape;
  shape.layer_count = kLayers;
  DeviceMaps maps({.shape = shape,
                   .replica_count_max = 0,
                   .updated_layer_count_max = kUpdatedMax,
                   .with_shares = with_shares},
                  stream.get());
  std::vector<std::optional<LayerMap>> held(kLayers);
  for (int round = 0; round < kUpdates; ++round) {
    std::vector<LayerMapUpdate> updates;
    const std::int32_t first = draw.below(kLayers);
    const std::int32_t count = draw.below(kUpdatedMax + 1);
    for (std::int32_t offset = 0; offset < count; ++offset) {
      const LayerId layer{(first + offset) % kLayers};
      held[layer.index()] = draw_map(layer_shape, draw);
      updates.push_back({.layer = layer, .map = &*held[layer.index()]});
    }
    maps.update(updates);
    if (round + 1 < kUpdates && draw.chance(0.6)) {
      continue;  // Nobody looks at this one: the next may come before it has run.
    }
    for (std::int32_t layer = 0; layer < kLayers; ++layer) {
      const LayerMapView view = maps.view(LayerId{layer});
      checks.expect_equal<MapEntry>(
          actual_entries(view, stream.get()),
          expected_entries(held[static_cast<std::size_t>(layer)], view),
          "layer " + std::to_string(layer) + " after update " + std::to_string(round));
      if (with_shares) {
        checks.expect_equal<MapEntry>(
            actual_thresholds(view, stream.get()),
            expected_thresholds(held[static_cast<std::size_t>(layer)], view),
            "thresholds of layer " + std::to_string(layer) + " after update " +
                std::to_string(round));
      }
    }
  }
}

void refuse_too_many_replicas(Checks& checks, Draw& draw) {
  const Stream stream;
  const Shape shape = shape_of(256, 288);
  const LayerMap map = draw_map(shape, draw);
  DeviceMaps maps({.shape = shape, .replica_count_max = 3, .updated_layer_count_max = 1},
                  stream.get());
  checks.expect(most_replicas(map) > 3, "a drawn map has an expert of more than 3 replicas");
  const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
  bool refused = false;
  try {
    maps.update({&update, 1});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  checks.expect(refused, "an update with more replicas than were reserved for is refused");
}

}  // namespace

void test_map_update(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  for (const auto& [expert_count, slot_count] :
       {std::array{64, 64}, std::array{256, 288}, std::array{384, 400}, std::array{896, 960}}) {
    compare_updates(checks, shape_of(expert_count, slot_count), false, draw);
    compare_updates(checks, shape_of(expert_count, slot_count), true, draw);
  }
  refuse_too_many_replicas(checks, draw);
}

}  // namespace eplb::gpu::test
