#pragma once

#include "eplb/core/result.hpp"
#include "eplb/sim/cluster/copy_study.hpp"

namespace eplb::sim {

/// Share of its speed that a forward which streams from memory all the time loses while bytes flow
/// between the study's pairs beside it; 0 where they are in nobody's way. Errors as copies_us.
[[nodiscard]] Result<double> forward_slowdown(const CopyStudy& study);

}  // namespace eplb::sim
