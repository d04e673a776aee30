#include "scatter_policy.hpp"

#include <utility>
#include <vector>

#include "eplb/core/digest.hpp"
#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {

Result<Placement> ScatterPolicy::place(const PolicyProblem& problem) const {
  const RealLoadMatrix load = window_load(problem);
  Digest digest;
  digest.add(static_cast<std::int64_t>(seed_));
  for (Eigen::Index cell = 0; cell < load.size(); ++cell) {
    digest.add(static_cast<std::int64_t>(load.data()[cell]));
  }
  RandomStream random(digest.value(), "scatter");
  const Shape& shape = problem.shape;
  std::vector<LayerPlacement> layers;
  for (std::int32_t index = 0; index < shape.layer_count; ++index) {
    const bool stays = problem.current != nullptr && random.below(4) == 0;
    if (stays) {
      const LayerPlacement& current = problem.current->layer(LayerId{index});
      const auto occupants = current.occupants();
      std::vector<LogicalExpertId> same(occupants.begin(), occupants.end());
      for (LogicalExpertId& expert : same) {
        expert = expert == kNoExpert ? LogicalExpertId{0} : expert;
      }
      layers.push_back(LayerPlacement::create(shape, std::move(same)).value());
      continue;
    }
    std::vector<LogicalExpertId> occupants;
    for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
      const auto any = random.below(static_cast<std::uint64_t>(shape.expert_count));
      occupants.push_back(
          LogicalExpertId{slot < shape.expert_count ? slot : static_cast<std::int32_t>(any)});
    }
    for (std::size_t left = occupants.size(); left > 1; --left) {
      std::swap(occupants[left - 1], occupants[random.below(left)]);
    }
    layers.push_back(LayerPlacement::create(shape, std::move(occupants)).value());
  }
  return Placement::create(shape, std::move(layers));
}

}  // namespace eplb::sim
