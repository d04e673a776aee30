#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eplb::placement {

/// The column given to each row of a square matrix, [rows], each to one, so that the sum of
/// `gain[row * size + column]` is largest: the Hungarian method with potentials, which takes size^3
/// steps. The same choice everywhere among equals, as gains are whole numbers.
[[nodiscard]] std::vector<std::size_t> assign_best(const std::vector<std::int64_t>& gain,
                                                   std::size_t size);

}  // namespace eplb::placement
