#include "eplb/placement/slot_preservation.hpp"

#include <algorithm>
#include <cstddef>

namespace eplb::placement {

std::vector<LogicalExpertId> preserve_slots(std::span<const LogicalExpertId> current,
                                            std::vector<LogicalExpertId> wanted,
                                            std::int32_t slots_per_rank) {
  const auto width = static_cast<std::size_t>(std::max(slots_per_rank, 0));
  if (width == 0 || current.size() != wanted.size() || wanted.size() % width != 0) {
    return wanted;
  }
  std::vector<LogicalExpertId> unclaimed;
  std::vector<std::size_t> open_slots;
  for (std::size_t first = 0; first < wanted.size(); first += width) {
    const std::span<LogicalExpertId> slots = std::span(wanted).subspan(first, width);
    unclaimed.assign(slots.begin(), slots.end());
    open_slots.clear();
    for (std::size_t slot = 0; slot < width; ++slot) {
      const LogicalExpertId occupant = current[first + slot];
      const auto copy = std::ranges::find(unclaimed, occupant);
      if (copy == unclaimed.end()) {
        open_slots.push_back(slot);
      } else {
        slots[slot] = occupant;
        unclaimed.erase(copy);
      }
    }
    for (std::size_t rest = 0; rest < open_slots.size(); ++rest) {
      slots[open_slots[rest]] = unclaimed[rest];
    }
  }
  return wanted;
}

}  // namespace eplb::placement
