#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layer_search.hpp"

namespace eplb::placement {

/// Most starts that fresh_starts makes where no expert takes more than half of the layer.
inline constexpr std::size_t kUsualStarts = 4;

/// Most starts that may be asked to be searched from.
inline constexpr std::int32_t kFreshStartsMax = 4;

/// Placements from scratch, [starts][slots], to begin a search from. Copies go to the largest load
/// a copy, then the largest copy to a rank that does not hold its expert; ranks are renamed so that
/// as many rows as can stay where they are. The starts differ in what counts as an expert's load,
/// in how a rank is chosen and, where one expert outweighs a rank's mean load, in its number of
/// copies: several ranks must then change at once, which no step of the search does.
[[nodiscard]] std::vector<std::vector<std::size_t>> fresh_starts(const LayerTask& task);

/// `occupants`, whose slots may be empty (task.expert_count) or hold an expert twice on a rank,
/// with such slots given to the experts with the largest load a copy.
[[nodiscard]] std::vector<std::size_t> without_waste(const LayerTask& task,
                                                     std::vector<std::size_t> occupants);

}  // namespace eplb::placement
