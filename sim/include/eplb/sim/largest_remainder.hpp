#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace eplb::sim {

/// Whole numbers in proportion to `shares` that sum exactly to `total` (Hamilton's method): each
/// gets its share rounded down, and the largest remainders, lowest index first, one more.
/// `shares` are not negative and sum to about 1.
[[nodiscard]] std::vector<std::int64_t> largest_remainder(std::span<const double> shares,
                                                          std::int64_t total);

}  // namespace eplb::sim
