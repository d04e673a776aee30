#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::test {

/// Turns every layer's experts by one more slot with each part that it is shown, up to
/// `history_parts`: ranks that are shown different pasts make different plans.
class TurningPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "turning"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    const Shape& shape = problem.shape;
    const auto turn = static_cast<std::int32_t>(problem.history.size());
    std::vector<LayerPlacement> layers;
    layers.reserve(static_cast<std::size_t>(shape.layer_count));
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      std::vector<LogicalExpertId> occupants;
      occupants.reserve(static_cast<std::size_t>(shape.slot_count()));
      for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
        occupants.push_back(LogicalExpertId{(slot + turn * (layer + 1)) % shape.expert_count});
      }
      layers.push_back(LayerPlacement::create(shape, std::move(occupants)).value());
    }
    return Placement::create(shape, std::move(layers));
  }
};

/// Everything on the ranks that are asked for, expert by expert.
class InitialPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "initial"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    return Placement::initial(problem.shape);
  }
};

}  // namespace eplb::test
