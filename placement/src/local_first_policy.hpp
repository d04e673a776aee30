#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Replicas near their sources, which are all ranks alike: greedy copies; then each copy, largest
/// first, goes to the node with the fewest copies of its expert, so that as many nodes as there are
/// copies can choose one of their own; in the node, to the least loaded rank that is without the
/// expert. After SGLang's topology-aware proposal. On one node it is TensorRT-LLM's policy without
/// duplicates. Experts that stay on their rank keep their slot.
class LocalFirstPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "local_first";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
