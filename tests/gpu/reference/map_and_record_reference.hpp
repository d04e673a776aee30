#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/replica_choice.hpp"

namespace eplb::gpu::test {

/// What map_and_record is given, as plain values of the host.
struct MapCase {
  std::vector<std::int64_t> logical_ids;  ///< [rows, top_k]
  std::int32_t top_k = 1;
  const LayerMap* map = nullptr;
  ReplicaChoice choice = ReplicaChoice::kSalted;
  std::uint32_t rank = 0;
  std::uint32_t layer = 0;
  bool is_recording = true;
  std::optional<std::int32_t> unpadded_row_count;
  std::vector<std::uint8_t> is_padding;  ///< [rows], or empty.
  std::int32_t slot_count = 0;
};

struct MapOutcome {
  std::vector<std::int64_t> slot_ids;
  std::vector<std::int32_t> logical_counts;
  std::vector<std::int32_t> slot_counts;
};

/// The published arithmetic, pick by pick, with core's own map.
[[nodiscard]] MapOutcome map_and_record_reference(const MapCase& map_case);

}  // namespace eplb::gpu::test
