#include "default_policy.hpp"

#include <utility>

#include "eplb/placement/slot_preservation.hpp"
#include "hierarchy.hpp"
#include "layerwise.hpp"

namespace eplb::placement {

Result<Placement> DefaultPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double> load) {
    const std::vector<double> cast = as_float32<double>(load);
    auto occupants = place_hierarchically(std::span<const double>(cast), Hierarchy::of(problem));
    if (problem.current == nullptr) {
      return occupants;
    }
    return preserve_slots(problem.current->layer(layer).occupants(), std::move(occupants),
                          problem.shape.slots_per_rank());
  });
}

}  // namespace eplb::placement
