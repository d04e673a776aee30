#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::test {

/// A policy that answers as the test's function does.
class FunctionPolicy final : public PlacementPolicy {
 public:
  using Function = std::function<Placement(const PolicyProblem&)>;

  explicit FunctionPolicy(Function function) : function_(std::move(function)) {}

  [[nodiscard]] std::string_view name() const override { return "function"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    return function_(problem);
  }

 private:
  Function function_;
};

/// Every slot's occupant goes to the same slot of the next rank, in all layers.
[[nodiscard]] inline Placement rotated(const Placement& before) {
  const Shape& shape = before.shape();
  std::vector<LayerPlacement> layers;
  for (const LayerPlacement& layer : before.layers()) {
    std::vector<LogicalExpertId> occupants;
    occupants.reserve(static_cast<std::size_t>(shape.slot_count()));
    for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
      occupants.push_back(
          layer.occupant(SlotId{(slot + shape.slots_per_rank()) % shape.slot_count()}));
    }
    layers.push_back(LayerPlacement::create(shape, std::move(occupants)).value());
  }
  return Placement::create(shape, std::move(layers)).value();
}

/// Moves every slot's expert at every plan.
[[nodiscard]] inline FunctionPolicy rotating_policy() {
  return FunctionPolicy([](const PolicyProblem& problem) { return rotated(*problem.current); });
}

}  // namespace eplb::test
