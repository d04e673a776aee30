// Goal: a group shrinks and grows with its window, its history, its cadence and its placement kept,
// and refuses what would lose an expert. Method: two ranks of four slots for four experts, so that
// one rank can hold all.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;
using test::placement_of;
using test::ScriptedEnvironment;

constexpr Shape kTwoRanks{
    .layer_count = 3, .expert_count = 4, .redundant_slot_count = 4, .rank_count = 2};
constexpr Shape kOneRank{
    .layer_count = 3, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 1};
constexpr Shape kThreeRanks{
    .layer_count = 3, .expert_count = 4, .redundant_slot_count = 8, .rank_count = 3};

struct ScalingFixture : BalancerFixture {
  ScalingFixture() {
    shape = kTwoRanks;
    environment.recorder.physical = LoadMatrix::Ones(3, 8);
  }

  /// One rearrangement that moves nothing, then drained.
  void serve_and_drain() {
    ask_for_plan();
    answer(balancer().placement());
    steps(1);
    balancer().drain();
    REQUIRE(balancer().drained());
  }

  /// Experts 1, 2, 3 of rank 0 in another order: all on rank 0, so that rank 1 may go.
  [[nodiscard]] static Placement all_on_rank_0() {
    return placement_of(kTwoRanks, {0, 2, 1, 3, -1, -1, -1, -1});
  }

  void vacate_rank_1() {
    REQUIRE(balancer().vacate({RankId{0}}, topology_of(1)).has_value());
    REQUIRE(step() == StepDecision::kHold);
    settle();
    answer(all_on_rank_0());
    // A layer moves two of rank 0's rows and the pool has four: two pool-fulls.
    for (int pool = 0; pool < 2; ++pool) {
      REQUIRE(step() == StepDecision::kHold);
      settle();
    }
    REQUIRE(step() == StepDecision::kProceed);
  }
};

TEST_CASE("ranks are vacated in a held step, though the serving is async") {
  ScalingFixture f;
  f.serve_and_drain();
  f.vacate_rank_1();
  const auto& requests = f.environment.planner.requests;
  REQUIRE(requests.size() == 2);
  CHECK(requests[1].staying == std::vector<RankId>{RankId{0}});
  CHECK(requests[1].shape == kOneRank);
  CHECK(requests[1].topology.rank_count() == 1);
  CHECK(requests[1].current->shape() == kTwoRanks);
  CHECK(f.balancer().placement() == ScalingFixture::all_on_rank_0());
  CHECK(f.balancer().drained());
}

TEST_CASE("ranks are vacated even without any load, as if all experts had the same") {
  ScalingFixture f;
  f.environment.recorder.logical.setZero();
  f.steps(1);
  f.balancer().drain();
  REQUIRE(f.balancer().vacate({RankId{0}}, BalancerFixture::topology_of(1)).has_value());
  CHECK(f.step() == StepDecision::kHold);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(*f.environment.planner.requests[0].history.back() == RealLoadMatrix::Ones(3, 4));
}

TEST_CASE("what cannot be vacated is refused") {
  ScalingFixture f;
  const auto code = [&](std::vector<RankId> staying) {
    const auto done = f.balancer().vacate(std::move(staying), BalancerFixture::topology_of(1));
    return done.has_value() ? std::nullopt : std::optional(done.error().code);
  };
  f.steps(2);
  CHECK(code({RankId{0}}) == ErrorCode::kAborted);
  f.settle();
  f.answer(f.balancer().placement());
  f.steps(1);
  f.balancer().drain();
  CHECK(code({}) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{2}}) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{-1}, RankId{0}}) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{1}, RankId{0}}) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{0}, RankId{0}}) == ErrorCode::kInvalidArgument);
  CHECK_FALSE(code({RankId{0}}).has_value());
}

TEST_CASE("too few slots on the ranks that stay are refused") {
  BalancerFixture f;
  f.steps(1);
  f.balancer().drain();
  // Three slots for four experts.
  const auto done = f.balancer().vacate({RankId{0}}, BalancerFixture::topology_of(1));
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("a group shrinks to the ranks that hold everything, with its window and history kept") {
  ScalingFixture f;
  f.serve_and_drain();
  f.vacate_rank_1();
  ScriptedEnvironment alone(RankId{0}, 1);
  alone.recorder.logical = LoadMatrix::Ones(3, 4);
  const std::int64_t counter = f.balancer().steps_until_rearrangement();
  REQUIRE(
      f.balancer()
          .rescale(alone.environment(), {RankId{0}, RankId{-1}}, BalancerFixture::topology_of(1))
          .has_value());
  CHECK(f.balancer().placement() == placement_of(kOneRank, {0, 2, 1, 3}));
  CHECK(f.balancer().settings().shape == kOneRank);
  CHECK(f.balancer().steps_until_rearrangement() == counter);
  CHECK(f.balancer().state() == MigrationState::kStarting);
  CHECK(alone.memory.layouts.at(0).slots_per_rank == 4);
  CHECK(alone.recorder.gate == std::vector<bool>{false});
  f.balancer().resume();
  // The first step waits for the new group, then holds for the rearrangement.
  CHECK(f.step() == StepDecision::kHold);
  f.settle();
  REQUIRE(alone.planner.requests.size() == 1);
  CHECK(alone.planner.requests[0].rearrangement == 3);
  // Two windows of the old group, of which history_parts keeps one beside the newest: two steps.
  REQUIRE(alone.planner.requests[0].history.size() == 2);
  CHECK((*alone.planner.requests[0].history[0])(0, 0) == 2);
  CHECK((*alone.planner.requests[0].history[1])(0, 0) == 2);
  alone.planner.answer(alone.planner.requests[0], placement_of(kOneRank, {0, 1, 2, 3}));
  f.settle();
  for (int pool = 0; pool < 2; ++pool) {
    CHECK(f.step() == StepDecision::kHold);
    f.settle();
  }
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.balancer().placement() == placement_of(kOneRank, {0, 1, 2, 3}));
  // Once in the vacating, once now; the first rearrangement moved nothing.
  CHECK(f.balancer().epoch(LayerId{0}) == 2);
}

TEST_CASE(
    "a rescale that would lose an expert or names ranks wrongly is refused and changes nothing") {
  ScalingFixture f;
  ScriptedEnvironment next(RankId{0}, 1);
  const auto code = [&](const RankMapping& mapping, std::int32_t ranks) {
    const auto done =
        f.balancer().rescale(next.environment(), mapping, BalancerFixture::topology_of(ranks));
    return done.has_value() ? std::nullopt : std::optional(done.error().code);
  };
  f.steps(2);
  CHECK(code({RankId{0}, RankId{-1}}, 1) == ErrorCode::kAborted);
  f.settle();
  // Expert 3 on rank 1 alone.
  f.answer(placement_of(kTwoRanks, {0, 1, 2, 0, 3, 0, 1, 2}));
  while (f.balancer().rearrangements().empty()) {
    f.steps(1);
    f.settle();
  }
  f.balancer().drain();
  REQUIRE(f.balancer().drained());
  CHECK(code({RankId{0}, RankId{-1}}, 1) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{0}}, 1) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{0}, RankId{2}}, 2) == ErrorCode::kInvalidArgument);
  CHECK(code({RankId{0}, RankId{0}}, 2) == ErrorCode::kInvalidArgument);
  CHECK(f.balancer().settings().shape == kTwoRanks);
  CHECK(next.memory.layouts.empty());
  CHECK(f.step() == StepDecision::kProceed);
}

TEST_CASE("a group grows: the newcomer starts from a snapshot and agrees with the old members") {
  ScalingFixture f;
  f.serve_and_drain();
  const RankMapping mapping{RankId{0}, RankId{1}};
  auto snapshot = f.balancer().snapshot_for(mapping, 3);
  REQUIRE(snapshot.has_value());
  CHECK(snapshot->placement == placement_of(kThreeRanks, {0, 1, 2, 3, 0, 1, 2, 3, -1, -1, -1, -1}));
  CHECK(snapshot->step == 3);
  CHECK(snapshot->rearrangement == 1);
  REQUIRE(snapshot->history.size() == 1);
  ScriptedEnvironment old_member(RankId{0}, 3);
  old_member.recorder.logical = LoadMatrix::Ones(3, 4);
  REQUIRE(f.balancer()
              .rescale(old_member.environment(), mapping, BalancerFixture::topology_of(3))
              .has_value());
  ScriptedEnvironment newcomer(RankId{2}, 3);
  newcomer.recorder.logical = LoadMatrix::Ones(3, 4);
  const auto joined = Balancer::join({.options = f.options,
                                      .shape = kThreeRanks,
                                      .topology = BalancerFixture::topology_of(3),
                                      .row_bytes = {10, 100, 1000}},
                                     newcomer.environment(), *snapshot)
                          .value();
  CHECK(newcomer.control_plane.posts.at(0).digest == old_member.control_plane.posts.at(0).digest);
  CHECK(joined->steps_until_rearrangement() == f.balancer().steps_until_rearrangement());
  CHECK(joined->placement() == f.balancer().placement());
  f.balancer().resume();
  CHECK(f.step() == StepDecision::kHold);
  CHECK(joined->on_step(StepKind::kReal) == StepDecision::kHold);
  CHECK(joined->state() == MigrationState::kAggregating);
  f.settle();
  REQUIRE(old_member.planner.requests.size() == 1);
  const PlanRequest& request = old_member.planner.requests[0];
  CHECK_FALSE(request.staying.has_value());
  CHECK(request.shape == kThreeRanks);
  REQUIRE(request.history.size() == 2);
  CHECK((*request.history[0])(0, 0) == 2);
}

TEST_CASE("an old member that turns into another rank keeps its experts") {
  ScalingFixture f;
  f.serve_and_drain();
  const auto snapshot = f.balancer().snapshot_for({RankId{2}, RankId{0}}, 3);
  REQUIRE(snapshot.has_value());
  CHECK(snapshot->placement == placement_of(kThreeRanks, {0, 1, 2, 3, -1, -1, -1, -1, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace eplb
