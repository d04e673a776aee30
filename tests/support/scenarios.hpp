#pragma once

#include "eplb/sim/options.hpp"

namespace eplb::test {

/// A small group with skewed routing and round figures: 4 layers of 16 experts, top-2, on 4 ranks
/// of 2 nodes, 4 redundant slots, a window of 20 steps and a rearrangement every 40.
[[nodiscard]] sim::Scenario small_scenario();

}  // namespace eplb::test
