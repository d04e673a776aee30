#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"

namespace eplb::placement {

/// Names that make_policy knows, ascending:
///   deepseek  DeepSeek's EPLB, hierarchical or global, sums in float32;
///   default   vLLM's: the same steps with sums in double, then experts that stay on their rank
///   keep
///             their slot;
///   linear    no balancing: slot p holds expert p mod E;
///   trtllm    TensorRT-LLM's: greedy copies, then the largest copy to the least loaded rank.
[[nodiscard]] std::span<const std::string_view> policy_names();

/// kInvalidArgument, listing the allowed names, if there is no policy of that name.
[[nodiscard]] Result<std::unique_ptr<PlacementPolicy>> make_policy(std::string_view name);

}  // namespace eplb::placement
