#pragma once

#include <cstdint>

#include "eplb/core/balancer.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// The shape with so many ranks: slots a rank stay, redundancy follows.
[[nodiscard]] Shape with_ranks(Shape shape, std::int32_t rank_count);

/// `placement` as a group of another size sees it: ranks renumbered, new ones empty.
/// kInvalidArgument if the mapping is none, or if a leaving rank holds the last replica of an
/// expert.
[[nodiscard]] Result<Placement> rescaled(const Placement& placement, const RankMapping& mapping,
                                         std::int32_t rank_count);

}  // namespace eplb
