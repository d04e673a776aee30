#include "deepseek_policy.hpp"

#include "hierarchy.hpp"
#include "layerwise.hpp"

namespace eplb::placement {

Result<Placement> DeepseekPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId, std::span<const double> load) {
    const std::vector<float> cast = as_float32<float>(load);
    return place_hierarchically(std::span<const float>(cast), Hierarchy::of(problem));
  });
}

}  // namespace eplb::placement
