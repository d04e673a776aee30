#include "eplb/gpu/run/map_check.hpp"

#include <algorithm>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/error.hpp"

namespace eplb::gpu {

std::vector<MapEntry> entries_of(const LayerMap& map, std::int32_t tail_width) {
  std::vector<MapEntry> entries(map_entries(map.expert_count(), tail_width), kNoSlot);
  for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
    const auto slots = map.slots(LogicalExpertId{expert});
    const auto replicas = ReplicaCount::of(static_cast<std::uint32_t>(slots.size()));
    const auto head = static_cast<std::size_t>(expert) * kHeadEntries;
    const std::size_t tail =
        map_entries(map.expert_count(), 0) +
        static_cast<std::size_t>(expert) * static_cast<std::size_t>(tail_width);
    entries[head] = static_cast<MapEntry>(replicas.reciprocal & 0xFFFFU);
    entries[head + 1] = static_cast<MapEntry>(replicas.reciprocal >> 16U);
    entries[head + 2] = static_cast<MapEntry>(replicas.count);
    for (std::size_t replica = 0; replica < slots.size(); ++replica) {
      const std::size_t place =
          replica < kHeadSlots ? head + kHeadSlotsBegin + replica : tail + replica - kHeadSlots;
      entries[place] = static_cast<MapEntry>(slots[replica]);
    }
  }
  return entries;
}

std::vector<MapEntry> thresholds_of(const LayerMap& map, std::int32_t threshold_width) {
  const auto width = static_cast<std::size_t>(threshold_width);
  std::vector<MapEntry> thresholds(static_cast<std::size_t>(map.expert_count()) * width,
                                   kNoThreshold);
  if (thresholds.empty()) {
    return thresholds;
  }
  for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
    const auto count = static_cast<std::uint32_t>(map.replica_count(LogicalExpertId{expert}));
    for (std::uint32_t replica = 0; replica + 1 < count; ++replica) {
      thresholds[static_cast<std::size_t>(expert) * width + replica] =
          static_cast<MapEntry>(threshold_of(map, LogicalExpertId{expert}, replica));
    }
  }
  return thresholds;
}

bool holds(const LayerMapView& view, const LayerMap& map, cudaStream_t stream) {
  const std::vector<MapEntry> expected = entries_of(map, view.tail_width);
  const std::vector<MapEntry> expected_thresholds =
      thresholds_of(map, map.has_shares() ? view.threshold_width : 0);
  std::vector<MapEntry> found(expected.size());
  std::vector<MapEntry> found_thresholds(expected_thresholds.size());
  EPLB_CUDA(cudaMemcpyAsync(found.data(), view.heads, found.size() * sizeof(MapEntry),
                            cudaMemcpyDeviceToHost, stream));
  if (!found_thresholds.empty()) {
    EPLB_CUDA(cudaMemcpyAsync(found_thresholds.data(), view.thresholds,
                              found_thresholds.size() * sizeof(MapEntry), cudaMemcpyDeviceToHost,
                              stream));
  }
  EPLB_CUDA(cudaStreamSynchronize(stream));
  return found == expected && found_thresholds == expected_thresholds;
}

}  // namespace eplb::gpu
