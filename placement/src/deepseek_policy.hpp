#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// DeepSeek's EPLB: hierarchical or global (hierarchy.hpp), sums in float32. It never looks at the
/// current placement, so experts that stay on a rank may change their slot.
class DeepseekPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "deepseek";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
