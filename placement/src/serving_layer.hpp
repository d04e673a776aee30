#pragma once

#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"
#include "eplb/placement/slot_preservation.hpp"

namespace eplb::placement {

/// What serves a layer, where its slots are those of the problem; else what a loader fills before
/// any load is known. The problem must have been checked.
[[nodiscard]] inline LayerPlacement serving_layer(const PolicyProblem& problem, LayerId layer) {
  const bool serves = problem.current != nullptr && problem.current->shape() == problem.shape;
  return serves ? problem.current->layer(layer) : LayerPlacement::initial(problem.shape);
}

/// `wanted` with experts that stay on their rank in the slot that they have, as preserve_slots.
[[nodiscard]] inline std::vector<LogicalExpertId> with_slots_kept(
    const PolicyProblem& problem, LayerId layer, std::vector<LogicalExpertId> wanted) {
  if (problem.current == nullptr) {
    return wanted;
  }
  return preserve_slots(problem.current->layer(layer).occupants(), std::move(wanted),
                        problem.shape.slots_per_rank());
}

}  // namespace eplb::placement
