#pragma once

#include <vector>

#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"
#include "eplb/sim/program/program_run.hpp"

namespace eplb::sim {

/// What two ranks of a serving run do around a rearrangement, as a program: a forward with its
/// expert kernels on one stream, weights on another, as the scenario's engine and communicator have
/// it. The host runs ahead of its GPU, so nothing but what is written orders the two streams.
[[nodiscard]] Program serving_program(const Scenario& scenario);

/// Orders that could hang a serving run; none without EPLB. Those of serving_program, and one that
/// lies inside NCCL: groups of more operations than it keeps in one launch are cut up, by each rank
/// for itself.
[[nodiscard]] std::vector<Hazard> serving_hazards(const Scenario& scenario);

}  // namespace eplb::sim
