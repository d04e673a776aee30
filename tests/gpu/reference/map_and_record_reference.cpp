#include "map_and_record_reference.hpp"

namespace eplb::gpu::test {

MapOutcome map_and_record_reference(const MapCase& map_case) {
  const LayerMap& map = *map_case.map;
  MapOutcome outcome{
      .slot_ids = std::vector<std::int64_t>(map_case.logical_ids.size(), -1),
      .logical_counts = std::vector<std::int32_t>(static_cast<std::size_t>(map.expert_count()), 0),
      .slot_counts = std::vector<std::int32_t>(static_cast<std::size_t>(map_case.slot_count), 0)};
  for (std::size_t pick = 0; pick < map_case.logical_ids.size(); ++pick) {
    const std::int64_t id = map_case.logical_ids[pick];
    const std::size_t row = pick / static_cast<std::size_t>(map_case.top_k);
    const bool is_padding = !map_case.is_padding.empty() && map_case.is_padding[row] != 0;
    if (id < 0 || id >= map.expert_count() || is_padding) {
      continue;
    }
    const LogicalExpertId expert{static_cast<std::int32_t>(id)};
    const ReplicaKey key{.row = static_cast<std::uint32_t>(row),
                         .rank = map_case.rank,
                         .layer = map_case.layer,
                         .expert = static_cast<std::uint32_t>(id)};
    const SlotId slot = map.slot(expert, map.replica(map_case.choice, key));
    outcome.slot_ids[pick] = slot.value;
    const bool is_real = !map_case.unpadded_row_count ||
                         static_cast<std::int64_t>(row) < *map_case.unpadded_row_count;
    if (map_case.is_recording && is_real) {
      ++outcome.logical_counts[expert.index()];
      ++outcome.slot_counts[slot.index()];
    }
  }
  return outcome;
}

}  // namespace eplb::gpu::test
