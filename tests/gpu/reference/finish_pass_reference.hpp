#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace eplb::gpu::test {

/// Sum over the slots of each rank in each layer; slots are rank-major.
[[nodiscard]] inline std::vector<std::int32_t> rank_loads_reference(
    std::span<const std::int32_t> slot_counts, std::int32_t slots_per_rank) {
  const auto width = static_cast<std::size_t>(slots_per_rank);
  std::vector<std::int32_t> loads;
  for (std::size_t begin = 0; begin < slot_counts.size(); begin += width) {
    const auto slots = slot_counts.subspan(begin, width);
    loads.push_back(std::accumulate(slots.begin(), slots.end(), 0));
  }
  return loads;
}

}  // namespace eplb::gpu::test
