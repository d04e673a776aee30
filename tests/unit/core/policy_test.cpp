// Goal: a policy's window is the newest parts of the history. Method: parts that name themselves.
#include "eplb/core/policy.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace eplb {
namespace {

constexpr Shape kShape{.layer_count = 1,
                       .expert_count = 2,
                       .redundant_slot_count = 0,
                       .rank_count = 2,
                       .expert_group_count = 1};

TEST_CASE("the window's load is the sum of the newest parts only") {
  const Topology topology = Topology::create({.rank_count = 2}).value();
  std::vector<RealLoadMatrix> history;
  for (const double load : {1.0, 10.0, 100.0, 1000.0}) {
    history.emplace_back(RealLoadMatrix::Constant(1, 2, load));
  }
  PolicyProblem problem{.shape = kShape,
                        .topology = topology,
                        .history = history,
                        .window_part_count = 2,
                        .current = nullptr,
                        .costs = {}};
  CHECK(window_load(problem) == RealLoadMatrix::Constant(1, 2, 1100));
  problem.window_part_count = 4;
  CHECK(window_load(problem) == RealLoadMatrix::Constant(1, 2, 1111));
  problem.window_part_count = 0;
  CHECK(window_load(problem) == RealLoadMatrix::Zero(1, 2));
}

}  // namespace
}  // namespace eplb
