#pragma once

#include <functional>
#include <span>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Occupants of one layer's slots, [slots], for its experts' load, [experts].
using LayerPlacer =
    std::function<std::vector<LogicalExpertId>(LayerId layer, std::span<const double> load)>;

/// Places every layer by its window load alone. kInvalidArgument, before any layer is placed, if
/// the shape is not valid, topology, history or current placement do not belong to it, or a load is
/// negative or not finite.
[[nodiscard]] Result<Placement> place_layerwise(const PolicyProblem& problem,
                                                const LayerPlacer& place_layer);

}  // namespace eplb::placement
