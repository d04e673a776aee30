#pragma once

#include "eplb/core/communicator.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::config {

/// What the core must know of a scenario's EP group to judge the options of its balancer.
[[nodiscard]] EplbGroup group_of(const sim::Scenario& scenario);

}  // namespace eplb::config
