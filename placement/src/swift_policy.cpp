#include "swift_policy.hpp"

#include <span>

#include "layerwise.hpp"
#include "serving_layer.hpp"

namespace eplb::placement {

Result<Placement> SwiftPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double> load) {
    const LayerPlacement serving = serving_layer(problem, layer);
    return with_slots_kept(problem, layer, SwiftLayer(serving, load, shares_).plan());
  });
}

}  // namespace eplb::placement
