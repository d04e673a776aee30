#pragma once

#include "eplb/core/policy.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// What policies and the trigger weigh against each other, by the figures of the scenario's
/// machine:
///   layer       expert_layer_cost of the target
///   wire        two ranks at opposite ends of the group exchange rows by the resolved
///   communicator.
///               Where serving goes on, what a forward that streams from memory loses meanwhile,
///               for each byte (forward_slowdown); where it holds, all that a byte takes, the
///               copies' starts included (copies_us)
///   commit      two bytes of local copies for each byte, and a batch's start and a map's way for
///               each layer
/// An upper bound in these: a forward streams from memory less than all the time, pairs that are
/// nearer have wider ways, and layers that commit together share a start.
[[nodiscard]] PolicyCosts policy_costs(const Scenario& scenario, const Topology& topology);

}  // namespace eplb::sim
