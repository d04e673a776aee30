#include "default_policy.hpp"

#include "hierarchy.hpp"
#include "layerwise.hpp"
#include "serving_layer.hpp"

namespace eplb::placement {

Result<Placement> DefaultPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double> load) {
    const std::vector<double> cast = as_float32<double>(load);
    return with_slots_kept(
        problem, layer,
        place_hierarchically(std::span<const double>(cast), Hierarchy::of(problem)));
  });
}

}  // namespace eplb::placement
