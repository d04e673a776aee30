#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::gpu::test {

/// Deals experts out by load, the hottest twice, from a rank that the load chooses: with other load
/// nearly every slot gets another expert.
class ShufflingPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "shuffling"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    const Shape& shape = problem.shape;
    const RealLoadMatrix load = window_load(problem);
    std::vector<LayerPlacement> layers;
    layers.reserve(static_cast<std::size_t>(shape.layer_count));
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      Result<LayerPlacement> placed = LayerPlacement::create(shape, dealt(shape, load.row(layer)));
      if (!placed) {
        return tl::unexpected(placed.error());
      }
      layers.push_back(std::move(*placed));
    }
    return Placement::create(shape, std::move(layers));
  }

 private:
  [[nodiscard]] static std::vector<LogicalExpertId> dealt(const Shape& shape,
                                                          const RealLoadRow& load) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(shape.expert_count));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::int32_t expert) { return load(expert); });
    for (std::int32_t extra = 0; extra < shape.redundant_slot_count; ++extra) {
      order.push_back(order[static_cast<std::size_t>(extra % shape.expert_count)]);
    }
    const auto turn = static_cast<std::int32_t>(load(0)) % shape.rank_count;
    std::vector<LogicalExpertId> occupants(order.size());
    for (std::int32_t index = 0; index < shape.slot_count(); ++index) {
      const std::int32_t rank = (index + turn) % shape.rank_count;
      const std::int32_t slot = rank * shape.slots_per_rank() + index / shape.rank_count;
      occupants[static_cast<std::size_t>(slot)] = {order[static_cast<std::size_t>(index)]};
    }
    return occupants;
  }
};

}  // namespace eplb::gpu::test
