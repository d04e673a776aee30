#include "eplb/sim/largest_remainder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace eplb::sim {

std::vector<std::int64_t> largest_remainder(std::span<const double> shares, std::int64_t total) {
  std::vector<std::int64_t> counts;
  std::vector<double> remainders;
  counts.reserve(shares.size());
  remainders.reserve(shares.size());
  for (const double share : shares) {
    const double wanted = share * static_cast<double>(total);
    counts.push_back(static_cast<std::int64_t>(std::floor(wanted)));
    remainders.push_back(wanted - std::floor(wanted));
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t index) { return remainders[index]; });
  const std::int64_t missing =
      total - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  // Rounding of the shares themselves may leave a unit too many or too few; it goes round the list.
  for (std::int64_t unit = 0; unit < std::abs(missing); ++unit) {
    const std::size_t place = static_cast<std::size_t>(unit) % order.size();
    counts[missing > 0 ? order[place] : order[order.size() - 1 - place]] += missing > 0 ? 1 : -1;
  }
  return counts;
}

}  // namespace eplb::sim
