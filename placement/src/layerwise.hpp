#pragma once

#include <functional>
#include <span>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Occupants of one layer's slots, [slots], for its experts' load, [experts].
using LayerPlacer =
    std::function<std::vector<LogicalExpertId>(LayerId layer, std::span<const double> load)>;

/// kInvalidArgument if the shape is not valid, topology, history or current placement do not belong
/// to it, or a window's load is negative or not finite.
[[nodiscard]] Result<void> check_problem(const PolicyProblem& problem);

/// Places every layer by its window load alone; an error of check_problem before any is placed.
[[nodiscard]] Result<Placement> place_layerwise(const PolicyProblem& problem,
                                                const LayerPlacer& place_layer);

}  // namespace eplb::placement
