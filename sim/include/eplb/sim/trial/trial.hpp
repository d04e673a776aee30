#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "eplb/core/failure.hpp"
#include "eplb/sim/group/violations.hpp"
#include "eplb/sim/trial/swarm.hpp"

namespace eplb::sim {

/// What became of one world.
struct TrialResult {
  std::vector<Violation> violations;  ///< None: the core kept all its promises.
  Failure end;                        ///< Why the group ended, as it may under some faults.
  std::int64_t steps = 0;
  std::int64_t simulated_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t digest = 0;       ///< Of all that happened, and the next random number.
  std::set<std::string> reached;  ///< Rare things that this world came to.
};

/// Runs real balancers, one a rank, in the world that the swarm describes: with its faults, then
/// healed until two rearrangements have ended. Checked all the while:
///   content       every slot that serves tokens holds its expert, in every forward
///   agreement     all ranks have the same maps and epochs in a forward
///   ownership     no row is read or written by two who must not meet (RowStore)
///   conservation  physical counts folded by the maps are the logical ones
///   window        a plan is made from the newest recorded steps, recounted by brute force
///   trigger       all ranks weigh a plan by the same past, and no layer moves that cools
///   balancedness  a logged value is that of the step, and steps come in order
///   ends          whoever ends knows the same reason as all others; a group without a fatal fault
///                 does not end; nobody waits for ever
///   calm          without faults nobody holds
/// A pure function of the swarm, on any build.
[[nodiscard]] TrialResult run_trial(const Swarm& swarm);

}  // namespace eplb::sim
