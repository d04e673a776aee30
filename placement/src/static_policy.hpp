#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Planned once, as a deployment with a placement file is: `default` on the first load that it
/// sees, then whatever serves. A placement counts as not yet planned while it is the one that a
/// loader fills, Placement::initial.
class StaticPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "static";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
