// Goal: what a policy cannot serve is an error that names the fault, and a policy looks at the
// newest window only. Method: one sound problem, spoilt in one way a case, for every policy that
// reads it.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace eplb::test {
namespace {

constexpr std::array<std::string_view, 7> kLoadPolicies{
    "deepseek", "default", "local_first", "snake", "static", "swift", "trtllm"};

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 3};

RealLoadMatrix sound_load() {
  return load_of({{1, 2, 3, 4}, {9, 1, 1, 1}});
}

Topology ranks(std::int32_t rank_count) {
  return Topology::create({.rank_count = rank_count, .ranks_per_node = rank_count}).value();
}

std::string error_of(std::string_view policy, const PolicyProblem& problem) {
  const auto placed = placement::make_policy(policy).value()->place(problem);
  if (placed.has_value()) {
    return "";
  }
  CHECK(placed.error().code == ErrorCode::kInvalidArgument);
  return placed.error().message;
}

TEST_CASE("slots that ranks do not divide are refused by every policy") {
  Shape shape = kShape;
  shape.redundant_slot_count = 1;
  for (const std::string_view policy : placement::policy_names()) {
    const auto placed = try_plan({.policy = policy, .shape = shape}, sound_load());
    REQUIRE(!placed.has_value());
    CHECK(placed.error().code == ErrorCode::kInvalidArgument);
    CHECK(placed.error().message ==
          "4 experts + 1 redundant cannot be divided over 3 ranks; "
          "the nearest legal redundancy is 2");
  }
}

TEST_CASE("experts that groups do not divide are refused") {
  Shape shape = kShape;
  shape.expert_group_count = 3;
  for (const std::string_view policy : placement::policy_names()) {
    const auto placed = try_plan({.policy = policy, .shape = shape, .node_count = 3}, sound_load());
    REQUIRE(!placed.has_value());
    CHECK(placed.error().message == "4 experts cannot be divided into 3 groups");
  }
}

TEST_CASE("a topology of other ranks is refused") {
  const RealLoadMatrix load = sound_load();
  const Topology topology = ranks(6);
  for (const std::string_view policy : kLoadPolicies) {
    CHECK(error_of(policy, {.shape = kShape,
                            .topology = topology,
                            .history = std::span(&load, 1),
                            .costs = {}}) == "the topology has 6 ranks, the shape 3");
  }
}

TEST_CASE("a window must have parts, and no more than the history") {
  const RealLoadMatrix load = sound_load();
  const Topology topology = ranks(3);
  for (const std::string_view policy : kLoadPolicies) {
    PolicyProblem problem{
        .shape = kShape, .topology = topology, .history = std::span(&load, 1), .costs = {}};
    for (const std::int32_t parts : {-1, 0, 2}) {
      problem.window_part_count = parts;
      CHECK(error_of(policy, problem) == "a window of " + std::to_string(parts) +
                                             " parts cannot be taken from 1 parts of history");
    }
  }
}

TEST_CASE("a history of another size is refused") {
  const RealLoadMatrix load = RealLoadMatrix::Ones(2, 5);
  const Topology topology = ranks(3);
  for (const std::string_view policy : kLoadPolicies) {
    CHECK(
        error_of(
            policy,
            {.shape = kShape, .topology = topology, .history = std::span(&load, 1), .costs = {}}) ==
        "a part of the history has 2 layers x 5 experts, expected 2 x 4");
  }
}

TEST_CASE("a load that is negative or not finite is refused") {
  const Topology topology = ranks(3);
  for (const double bad :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    RealLoadMatrix load = sound_load();
    load(1, 3) = bad;
    for (const std::string_view policy : kLoadPolicies) {
      CHECK(error_of(policy, {.shape = kShape,
                              .topology = topology,
                              .history = std::span(&load, 1),
                              .costs = {}}) == "a window's load must be finite and not negative");
    }
  }
}

TEST_CASE("a current placement of another model is refused") {
  const RealLoadMatrix load = sound_load();
  Shape other = kShape;
  other.layer_count = 3;
  const Placement current = Placement::initial(other);
  for (const std::string_view policy : kLoadPolicies) {
    const auto placed =
        try_plan({.policy = policy, .shape = kShape, .current = &current}, sound_load());
    REQUIRE(!placed.has_value());
    CHECK(placed.error().message ==
          "the current placement is of another model: layers or experts differ");
  }
}

TEST_CASE("a current placement on another number of slots is only not preserved") {
  Shape wider = kShape;
  wider.redundant_slot_count = 5;
  const Placement current = Placement::initial(wider);
  CHECK(plan({.policy = "default", .shape = kShape, .current = &current}, sound_load()) ==
        plan({.policy = "default", .shape = kShape}, sound_load()));
}

TEST_CASE("a shape without layers gets a placement without layers") {
  Shape shape = kShape;
  shape.layer_count = 0;
  for (const std::string_view policy : placement::policy_names()) {
    CHECK(plan({.policy = policy, .shape = shape}, RealLoadMatrix(0, 4)).layers().empty());
  }
}

TEST_CASE("a policy sums the newest window's parts and looks at none before") {
  const std::vector<RealLoadMatrix> history{load_of({{90, 0, 0, 0}, {0, 0, 0, 90}}),
                                            load_of({{1, 1, 0, 4}, {5, 0, 1, 1}}),
                                            load_of({{0, 1, 3, 0}, {4, 1, 0, 0}})};
  const Topology topology = ranks(3);
  for (const std::string_view policy : kLoadPolicies) {
    CAPTURE(policy);
    const auto placed = placement::make_policy(policy).value()->place({.shape = kShape,
                                                                       .topology = topology,
                                                                       .history = history,
                                                                       .window_part_count = 2,
                                                                       .costs = {}});
    REQUIRE(placed.has_value());
    CHECK(*placed == plan({.policy = policy, .shape = kShape}, sound_load()));
  }
}

}  // namespace
}  // namespace eplb::test
