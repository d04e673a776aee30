#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tournament.hpp"

namespace eplb::placement {

/// Item of each copy, [copy_count], in the order in which copies are given: one to every item,
/// then each further one to the item with the largest load a copy, the lowest or highest id on
/// ties. No other counts have a smaller largest load a copy: an item that got its last copy at load
/// x had every other item at or below x, so counts that keep all below x need more copies than
/// there are. There is at least one item, and at least a copy for each.
template <WinRule Rule = WinRule::kLargestThenLowestId, typename Real>
[[nodiscard]] std::vector<std::int32_t> give_copies(std::span<const Real> load,
                                                    std::size_t copy_count) {
  std::vector<std::int32_t> item_of_copy(copy_count);
  const auto further = item_of_copy.begin() + static_cast<std::ptrdiff_t>(load.size());
  std::iota(item_of_copy.begin(), further, 0);
  std::vector<std::int32_t> copies(load.size(), 1);
  Tournament<Real, Rule> most_loaded(load);
  for (auto copy = further; copy != item_of_copy.end(); ++copy) {
    const std::size_t item = most_loaded.winner();
    *copy = static_cast<std::int32_t>(item);
    most_loaded.change_winner(load[item] / static_cast<Real>(++copies[item]));
  }
  return item_of_copy;
}

/// Load of each copy, [copies], when an item's load splits evenly over its copies.
template <typename Real>
[[nodiscard]] std::vector<Real> load_of_copies(std::span<const Real> load,
                                               std::span<const std::int32_t> item_of_copy) {
  std::vector<std::int32_t> copies(load.size(), 0);
  for (const std::int32_t item : item_of_copy) {
    ++copies[static_cast<std::size_t>(item)];
  }
  std::vector<Real> load_of_copy;
  load_of_copy.reserve(item_of_copy.size());
  for (const std::int32_t item : item_of_copy) {
    const auto index = static_cast<std::size_t>(item);
    load_of_copy.push_back(load[index] / static_cast<Real>(copies[index]));
  }
  return load_of_copy;
}

}  // namespace eplb::placement
