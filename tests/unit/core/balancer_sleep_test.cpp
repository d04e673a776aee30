// Goal: a rank gives its memory back only when nothing moves, and serves on with the same placement
// when it has it anew. Method: rank 0 of two, drained in every state.
#include <doctest/doctest.h>

#include <cstdint>

#include "balancer_fixture.hpp"

namespace eplb {
namespace {

using env::TraceEvent;
using test::BalancerFixture;

/// Steps until drained; how many it took.
int steps_to_drain(BalancerFixture& f) {
  int count = 0;
  while (!f.balancer().drained()) {
    REQUIRE(count < 20);
    f.steps(1);
    f.settle();
    ++count;
  }
  return count;
}

TEST_CASE(
    "a drain while weights move aborts on all ranks, and is no error where errors are raised") {
  EplbOptions options = test::small_options();
  options.on_failure = OnFailure::kRaise;
  BalancerFixture f(options);
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.balancer().drain();
  CHECK_FALSE(f.balancer().drained());
  f.steps(3);
  f.settle();
  CHECK_FALSE(f.balancer().drained());
  CHECK(f.balancer().release_memory().error().code == ErrorCode::kAborted);
  CHECK(f.environment.memory.release_count == 0);
  f.environment.transport.tickets.held_back = false;
  f.settle();
  CHECK(steps_to_drain(f) == 1);
  REQUIRE(f.balancer().rearrangements().size() == 1);
  CHECK(f.balancer().rearrangements()[0].abort == Failure{.cause = FailureCause::kDrained,
                                                          .rank = RankId{0},
                                                          .state = MigrationState::kMoving});
  CHECK(f.balancer().placement() == Placement::initial(BalancerFixture::kShape));
}

TEST_CASE("a drain triggers nothing and ends with its resume") {
  BalancerFixture f;
  f.steps(1);
  f.balancer().drain();
  f.steps(20);
  CHECK(f.environment.trace.count(TraceEvent::kAggregating) == 0);
  CHECK(f.balancer().drained());
  f.balancer().resume();
  f.steps(1);
  CHECK(f.environment.trace.count(TraceEvent::kAggregating) == 1);
}

TEST_CASE("a rank drains although every step is recorded and logged, and each lands later") {
  EplbOptions options = test::small_options();
  options.window_size = 100;
  options.step_interval = 100;
  for (const bool log : {false, true}) {
    CAPTURE(log);
    options.log_balancedness = log;
    BalancerFixture f(options);
    f.environment.recorder.a_step_late = true;
    f.steps(3);
    CHECK_FALSE(f.balancer().drained());
    f.balancer().drain();
    f.steps(1);
    CHECK(f.balancer().drained());
    // Steps of the drain itself are neither.
    CHECK(f.environment.recorder.closed.back() ==
          test::ScriptedRecorder::Closed{.step = 3, .record = false, .log = false});
    CHECK(f.environment.control_plane.own_sums.size() == (log ? 3 : 0));
  }
}

TEST_CASE("a drain does not hide a failure that has not been posted yet") {
  BalancerFixture f;
  f.environment.transport.refuses = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.balancer().drain();
  f.steps(1);
  CHECK(f.environment.control_plane.posts.back().failure.cause == FailureCause::kTransferFailed);
}

TEST_CASE(
    "memory is given back and reserved anew with the same layout, and placement and epochs stay") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  f.settle();
  f.balancer().drain();
  CHECK(steps_to_drain(f) == 2);
  REQUIRE(f.balancer().release_memory().has_value());
  CHECK(f.environment.memory.release_count == 1);
  REQUIRE(f.balancer().reserve_memory().has_value());
  REQUIRE(f.environment.memory.layouts.size() == 2);
  CHECK(f.environment.memory.layouts[1].landing_rows ==
        f.environment.memory.layouts[0].landing_rows);
  CHECK(f.environment.memory.layouts[1].row_bytes == f.environment.memory.layouts[0].row_bytes);
  CHECK(f.balancer().placement() == BalancerFixture::exchanged());
  CHECK(f.balancer().epoch(LayerId{0}) == 1);
  f.balancer().resume();
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  f.answer(BalancerFixture::swapped());
  f.steps(1);
  CHECK(f.balancer().epoch(LayerId{0}) == 2);
}

TEST_CASE("a rank that cannot have its memory back ends the group") {
  BalancerFixture f;
  f.steps(1);
  f.balancer().drain();
  REQUIRE(f.balancer().release_memory().has_value());
  f.environment.memory.refuses = true;
  CHECK(f.balancer().reserve_memory().error().code == ErrorCode::kResourceExhausted);
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason().cause == FailureCause::kMemory);
}

TEST_CASE("a rank that still starts, or is in a held step, is not drained") {
  EplbOptions options = test::small_options();
  options.use_async = false;
  BalancerFixture f(options);
  CHECK_FALSE(f.balancer().drained());
  f.steps(1);
  CHECK(f.balancer().drained());
  CHECK(f.step() == StepDecision::kHold);
  CHECK_FALSE(f.balancer().drained());
  CHECK(f.balancer().release_memory().error().code == ErrorCode::kAborted);
}

}  // namespace
}  // namespace eplb
