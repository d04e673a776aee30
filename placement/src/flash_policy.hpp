#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/policy.hpp"
#include "flash_layer.hpp"

namespace eplb::placement {

/// After vllm-ascend's FlashLB: statistics of the window's parts, several numbers of copies tried
/// and the best by replay kept, ranks renamed, and layers left alone while they are about as level
/// as a new plan would make them. Differences: docs/policies.md.
class FlashPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "flash";

  explicit FlashPolicy(const FlashOptions& options = {}) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  FlashOptions options_;
};

}  // namespace eplb::placement
