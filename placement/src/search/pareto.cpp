#include "eplb/placement/search/pareto.hpp"

#include <algorithm>
#include <cstddef>

namespace eplb::placement {

bool dominates(const Costs& left, const Costs& right) {
  bool better = false;
  for (std::size_t objective = 0; objective < left.size(); ++objective) {
    if (left[objective] > right[objective]) {
      return false;
    }
    better = better || left[objective] < right[objective];
  }
  return better;
}

std::vector<std::int32_t> pareto_layers(std::span<const Costs> candidates) {
  constexpr std::int32_t kNoLayer = -1;
  std::vector<std::int32_t> layers(candidates.size(), kNoLayer);
  std::size_t placed = 0;
  for (std::int32_t layer = 0; placed < candidates.size(); ++layer) {
    // A candidate of this layer still counts as there while the others are looked at.
    const auto is_there = [&](std::size_t index) {
      return layers[index] == kNoLayer || layers[index] == layer;
    };
    for (std::size_t index = 0; index < candidates.size(); ++index) {
      if (layers[index] != kNoLayer) {
        continue;
      }
      bool dominated = false;
      for (std::size_t other = 0; other < candidates.size() && !dominated; ++other) {
        dominated = is_there(other) && dominates(candidates[other], candidates[index]);
      }
      if (!dominated) {
        layers[index] = layer;
        ++placed;
      }
    }
  }
  return layers;
}

}  // namespace eplb::placement
