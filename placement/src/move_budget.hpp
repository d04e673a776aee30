#pragma once

#include <cstddef>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// What a layer's plan would bring.
struct LayerPlan {
  std::vector<LogicalExpertId> occupants;
  std::size_t moved_rows = 0;
  double gain = 0;  ///< Cost of what serves, without price, over that of the plan, less 1.
};

/// Puts layers back to what serves, those first whose rows gain least, until the rest moves
/// no more than `share` of all slots. The problem has a current placement of its shape.
void keep_to_budget(std::vector<LayerPlan>& plans, const PolicyProblem& problem, double share);

}  // namespace eplb::placement
