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
///             keep their slot;
///   flash     after FlashLB: statistics of parts, several numbers of copies tried;
///   frugal    robust at a higher price: fewer rows moved for a little less balance;
///   linear    no balancing: slot p holds expert p mod E;
///   local_first  copies spread over nodes first;
///   robust    ours: the best placement for what may come next, at a price a moved row;
///   snake     copies dealt forth and back;
///   static    default's first plan, kept;
///   swift     after the Swift balancer: few exchanges from what serves, and an early stop;
///   trtllm    TensorRT-LLM's: greedy copies, then the largest copy to the least loaded rank.
[[nodiscard]] std::span<const std::string_view> policy_names();

/// Whether the policy of that name is a peer's idea that is there to be scored (docs/policies.md);
/// nobody is advised to serve with it.
[[nodiscard]] bool is_for_research(std::string_view name);

/// A policy from its name, or from its name and options, "name:key=value,key=value":
///   deepseek, default, local_first, snake, static, trtllm
///                   windows (newest parts of the window to be added up; all)
///   flash           risk, groups, reach
///   robust, frugal  price, rank_price, second_price, directions, reach, history, fresh_starts,
///                   objective, step_tokens, max_moved
///   swift           even_shares
/// docs/policies.md has their meaning. kInvalidArgument, listing what is allowed, if there is no
/// policy of that name, or an option is unknown or out of range.
[[nodiscard]] Result<std::unique_ptr<PlacementPolicy>> make_policy(std::string_view spec);

}  // namespace eplb::placement
