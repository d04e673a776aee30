#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// No balancing: slot p holds expert p mod E, whatever the load. The baseline of every comparison.
class LinearPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "linear";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
