#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// vLLM's default: DeepSeek's steps (hierarchy.hpp) with float32 loads summed in double; then,
/// where a placement serves already, experts that stay on their rank keep their slot.
class DefaultPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "default";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
