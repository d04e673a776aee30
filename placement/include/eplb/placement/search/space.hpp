#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/placement/options.hpp"

namespace eplb::placement {

/// The number of the value on each axis of the setting `point` in [0, space_size). The last axis
/// runs fastest.
[[nodiscard]] std::vector<std::size_t> values_at(std::span<const SearchAxis> axes,
                                                 std::int64_t point);

/// The settings that a search judges, as points of its space, no point twice: all in order, or
/// `candidates` of them as drawn by `seed`. At most kSearchCandidatesMax of either.
[[nodiscard]] std::vector<std::int64_t> candidate_points(const SearchOptions& options,
                                                         std::uint64_t seed);

}  // namespace eplb::placement
