// Goal: triggers, recording gate and recorded loads follow the cadence of the reference
// (eplb-semantics 3.2), whatever the kind of a step. Method: a balancer on an environment driven by
// hand.
#include <doctest/doctest.h>

#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using env::TraceEvent;
using test::BalancerFixture;

/// The window that a policy is shown with a request, all cells alike; -1 if they are not.
double window_of(const PlanRequest& request) {
  const RealLoadMatrix& window = *request.history.back();
  return (window.array() == window(0, 0)).all() ? window(0, 0) : -1;
}

std::vector<bool> recorded(const test::ScriptedRecorder& recorder) {
  std::vector<bool> flags;
  for (const auto& closed : recorder.closed) {
    flags.push_back(closed.record);
  }
  return flags;
}

TEST_CASE("the first trigger comes after a quarter of the interval, the next an interval later") {
  BalancerFixture f;
  f.steps(1);
  f.settle();
  CHECK(f.environment.planner.requests.empty());
  f.steps(1);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  f.answer(f.balancer().placement());
  f.steps(7);
  f.settle();
  CHECK(f.environment.planner.requests.size() == 1);
  f.steps(1);
  f.settle();
  CHECK(f.environment.planner.requests.size() == 2);
}

TEST_CASE("the gate flips where the recorded window begins and ends, and only then") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(f.balancer().placement());
  f.steps(8);
  f.settle();
  // The counter starts at 6 of 8, so the gate is open; it shuts at the trigger and opens again when
  // 3 steps are left: after the counter has reached 5.
  CHECK(f.environment.recorder.gate == std::vector<bool>{true, false, true, false});
  CHECK(recorded(f.environment.recorder) ==
        std::vector<bool>{true, true, false, false, false, false, false, true, true, true});
  REQUIRE(f.environment.planner.requests.size() == 2);
  CHECK(window_of(f.environment.planner.requests[0]) == 2);
  CHECK(window_of(f.environment.planner.requests[1]) == 3);
}

TEST_CASE("a policy is shown the newest parts of all windows, no more than it is to see") {
  BalancerFixture f;
  f.ask_for_plan();
  for (int rearrangement = 0; rearrangement < 3; ++rearrangement) {
    f.answer(f.balancer().placement());
    f.steps(8);
    f.settle();
  }
  const auto& requests = f.environment.planner.requests;
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].history.size() == 1);
  CHECK(requests[1].history.size() == 2);
  CHECK(requests[3].history.size() == 2);
  CHECK((*requests[1].history[0])(0, 0) == 2);
  CHECK((*requests[3].history[0])(0, 0) == 3);
}

TEST_CASE("dummy steps move the counter but are not recorded, and profile steps move nothing") {
  BalancerFixture f;
  for (int i = 0; i < 5; ++i) {
    CHECK(f.step(StepKind::kProfile) == StepDecision::kProceed);
  }
  CHECK(f.balancer().steps_until_rearrangement() == 2);
  f.steps(1);
  CHECK(f.step(StepKind::kDummy) == StepDecision::kProceed);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(window_of(f.environment.planner.requests[0]) == 1);
  CHECK(recorded(f.environment.recorder) ==
        std::vector<bool>{false, false, false, false, false, true, false});
}

TEST_CASE("without any load the placement stays, the policy is not asked and the history is kept") {
  BalancerFixture f;
  f.environment.recorder.logical.setZero();
  for (int i = 0; i < 18; ++i) {
    f.steps(1);
    f.settle();
  }
  CHECK(f.environment.planner.requests.empty());
  CHECK(f.environment.trace.count(TraceEvent::kPlanSkipped) == 3);
  REQUIRE(f.balancer().rearrangements().size() == 2);
  CHECK(f.balancer().rearrangements()[0].start_step == 1);
  CHECK(f.balancer().rearrangements()[0].end_step == 2);
  CHECK(f.balancer().rearrangements()[0].committed_layers == 0);
  CHECK_FALSE(f.balancer().rearrangements()[0].abort);
  CHECK(f.balancer().placement() == Placement::initial(BalancerFixture::kShape));
  f.environment.recorder.logical.setOnes();
  f.steps(8);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(f.environment.planner.requests[0].history.size() == 1);
}

TEST_CASE("a rearrangement that overruns the interval is followed by the next one at once") {
  BalancerFixture f;
  f.ask_for_plan();
  f.steps(20);
  CHECK(f.balancer().steps_until_rearrangement() == -12);
  CHECK(f.environment.planner.requests.size() == 1);
  f.answer(f.balancer().placement());
  f.steps(1);
  f.settle();
  CHECK(f.environment.planner.requests.size() == 2);
  CHECK(f.balancer().steps_until_rearrangement() == 8);
}

TEST_CASE("an abort is followed by the next interval, not by the next step") {
  BalancerFixture f;
  f.ask_for_plan();
  f.steps(20);
  f.environment.planner.answers.push_back(
      {.rearrangement = 1, .schedule = fail(ErrorCode::kInvalidArgument, "cannot")});
  f.settle();
  f.steps(2);
  REQUIRE(f.balancer().rearrangements().size() == 1);
  CHECK(f.balancer().rearrangements()[0].abort.cause == FailureCause::kPlanFailed);
  // 22 steps since the trigger at step 1, so 6 of the third interval have passed.
  CHECK(f.balancer().steps_until_rearrangement() == 2);
  f.steps(1);
  f.settle();
  CHECK(f.environment.planner.requests.size() == 1);
  f.steps(1);
  f.settle();
  CHECK(f.environment.planner.requests.size() == 2);
}

TEST_CASE("loads that land late are taken in order at later steps") {
  BalancerFixture f;
  f.environment.recorder.held_back = true;
  f.steps(2);
  f.settle();
  CHECK(f.environment.trace.count(TraceEvent::kPlanSkipped) == 1);
  f.environment.recorder.held_back = false;
  f.steps(8);
  f.settle();
  // Two late passes and three of the second gate, of which the window keeps the last three.
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(window_of(f.environment.planner.requests[0]) == 3);
}

TEST_CASE("a rank that counts nothing gives zeros to the sum") {
  BalancerFixture f;
  f.environment.recorder.counts = false;
  f.steps(2);
  f.settle();
  REQUIRE(f.environment.control_plane.own_sums.size() == 1);
  CHECK(f.environment.control_plane.own_sums[0].first ==
        env::SumKey{.kind = env::SumKey::Kind::kWindow, .index = 1});
  CHECK(f.environment.control_plane.own_sums[0].second == std::vector<double>(12, 0.0));
}

}  // namespace
}  // namespace eplb
