#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"
#include "swift_layer.hpp"

namespace eplb::placement {

/// After vllm-ascend's Swift balancer: few moves from what serves. A layer within 1 % of level
/// stays. Else its spare slots are given anew, each copy to the least loaded rank; then the hottest
/// rank exchanges an expert with the coolest rank that gains at least 1 % of a mean rank's load by
/// it, until none does. Ranks exchange at most one expert each way a plan, and none that came in
/// the same plan: that is what stops it early. Differences: docs/policies.md.
class SwiftPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "swift";

  explicit SwiftPolicy(SwiftShares shares = SwiftShares::kPublished) : shares_(shares) {}

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  SwiftShares shares_;
};

}  // namespace eplb::placement
