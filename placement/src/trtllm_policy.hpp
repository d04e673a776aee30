#pragma once

#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::placement {

/// TensorRT-LLM's: greedy copies, then every copy, largest first, to the least loaded rank with
/// room. Groups and nodes play no part; loads and sums are double.
class TrtllmPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "trtllm";

  [[nodiscard]] std::string_view name() const override { return kName; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;
};

}  // namespace eplb::placement
