#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "descending_order.hpp"
#include "tournament.hpp"

namespace eplb::placement {

/// Item at each place, [packs x items a pack], pack-major: every item, largest first, goes to the
/// next place of the pack with the least load among those with room, the first such pack on ties.
/// `pack_count` divides the number of items, of which there is at least one.
template <typename Real>
[[nodiscard]] std::vector<std::int32_t> pack_greedily(std::span<const Real> load,
                                                      std::int32_t pack_count) {
  const auto packs = static_cast<std::size_t>(pack_count);
  const std::size_t capacity = load.size() / packs;
  std::vector<Real> pack_load(packs, Real{0});
  std::vector<std::size_t> filled(packs, 0);
  std::vector<std::int32_t> item_at_place(load.size());
  Tournament<Real, WinRule::kLeastThenLowestId> least_loaded(pack_load);
  for (const std::int32_t item : descending_order(load)) {
    const std::size_t pack = least_loaded.winner();
    item_at_place[pack * capacity + filled[pack]++] = item;
    pack_load[pack] += load[static_cast<std::size_t>(item)];
    if (filled[pack] < capacity) {
      least_loaded.change_winner(pack_load[pack]);
    } else {
      least_loaded.withdraw_winner();
    }
  }
  return item_at_place;
}

/// As pack_greedily, save that packs of one item take the items in order: DeepSeek's
/// balanced_packing (eplb-semantics 4.2).
template <typename Real>
[[nodiscard]] std::vector<std::int32_t> pack_balanced(std::span<const Real> load,
                                                      std::int32_t pack_count) {
  if (load.size() == static_cast<std::size_t>(pack_count)) {
    std::vector<std::int32_t> item_at_place(load.size());
    std::iota(item_at_place.begin(), item_at_place.end(), 0);
    return item_at_place;
  }
  return pack_greedily(load, pack_count);
}

}  // namespace eplb::placement
