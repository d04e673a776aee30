#include "eplb/gpu/layer_mapping.hpp"

#include <stdexcept>
#include <string>

namespace eplb::gpu {

void require_legal(const LayerMapping& mapping, std::string_view caller) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) {
      throw std::invalid_argument(std::string(caller) + ": " + what);
    }
  };
  const LayerMapView& map = mapping.map;
  require(map.expert_count >= 1 && map.expert_count <= kExpertsMax, "expert count out of range");
  require(map.heads != nullptr && (map.tail_width == 0 || map.tails != nullptr), "no map");
  require(mapping.choice != ReplicaChoice::kExact, "the exact split is the simulator's alone");
  require(mapping.choice != ReplicaChoice::kShares || map.thresholds != nullptr, "no shares");
  require(mapping.slot_count >= 0 && mapping.slot_count <= kSlotsMax, "slot count out of range");
  require(mapping.logical_counts != nullptr, "no logical counts");
}

}  // namespace eplb::gpu
