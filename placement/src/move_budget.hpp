#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// What a layer's plan would bring.
struct LayerPlan {
  std::vector<LogicalExpertId> occupants;
  std::size_t moved_rows = 0;
  double gain = 0;  ///< Cost of what serves, without price, over that of the plan, less 1.
};

/// Plans all layers with every row's price taken so many times, at least once.
using PlanAtPrice = std::function<std::vector<LayerPlan>(double price_factor)>;

/// The plan that moves no more than `share` of all slots, at about the lowest price at which it
/// does: one price for all layers, so that those rows are left which gain most, wherever they are.
/// Where no price is high enough, layers go back to what serves, those first whose rows gain least.
/// The problem has a current placement of its shape.
[[nodiscard]] std::vector<LayerPlan> plan_within_budget(const PlanAtPrice& plan,
                                                        const PolicyProblem& problem, double share);

}  // namespace eplb::placement
