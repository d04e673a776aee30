#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// The simplest balancer that is any good: greedy copies, then copies, largest first, dealt to the
/// ranks in a snake: from the first rank to the last, then back. Experts that stay on their rank
/// keep their slot.
class SnakePolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "snake";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
