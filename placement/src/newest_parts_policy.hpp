#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// Another policy, shown only the newest parts of the window: what it does with fresher counts.
class NewestPartsPolicy final : public PlacementPolicy {
 public:
  /// `part_count` is at least 1; a window of fewer parts is shown whole.
  NewestPartsPolicy(std::unique_ptr<PlacementPolicy> policy, std::int32_t part_count)
      : policy_(std::move(policy)), part_count_(part_count) {}

  [[nodiscard]] std::string_view name() const override { return policy_->name(); }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  std::unique_ptr<PlacementPolicy> policy_;
  std::int32_t part_count_;
};

}  // namespace eplb::placement
