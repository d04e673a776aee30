#include "move_budget.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace eplb::placement {

void keep_to_budget(std::vector<LayerPlan>& plans, const PolicyProblem& problem, double share) {
  const auto slots = static_cast<double>(problem.shape.slot_count()) *
                     static_cast<double>(problem.shape.layer_count);
  double rest = share * slots;
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    return plans[left].gain * static_cast<double>(plans[right].moved_rows) >
           plans[right].gain * static_cast<double>(plans[left].moved_rows);
  });
  for (const std::size_t layer : order) {
    const auto rows = static_cast<double>(plans[layer].moved_rows);
    if (rows <= rest) {
      rest -= rows;
      continue;
    }
    const auto now = problem.current->layer(LayerId{static_cast<std::int32_t>(layer)}).occupants();
    plans[layer].occupants.assign(now.begin(), now.end());
  }
}

}  // namespace eplb::placement
