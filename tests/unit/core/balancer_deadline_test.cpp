// Goal: nothing is waited for in silence: each state has its deadline, and the failure names the
// rank that is late, its state and its layer. Method: rank 0 of two, with time in the test's hand.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;
using test::kDeadlineNs;

/// Failure that this rank posts with its next step; none if it posts none.
Failure next_post(BalancerFixture& f) {
  f.steps(1);
  return f.environment.control_plane.posts.back().failure;
}

constexpr env::SumKey kFirstWindow{.kind = env::SumKey::Kind::kWindow, .index = 1};

TEST_CASE("a rank that is never polled again while it steps says so itself") {
  // vLLM 57883: the migration's helper is gone, the forwards go on.
  BalancerFixture f;
  f.steps(2);
  f.environment.clock.time_ns = kDeadlineNs;
  CHECK(next_post(f) == Failure{});
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(next_post(f) == Failure{.cause = FailureCause::kDeadline,
                                .rank = RankId{0},
                                .state = MigrationState::kAggregating});
}

TEST_CASE("a rank whose helper is gone while it moves says so itself, with the layer") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.transport.tickets.held_back = false;
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(next_post(f) == Failure{.cause = FailureCause::kDeadline,
                                .rank = RankId{0},
                                .state = MigrationState::kMoving,
                                .layer = LayerId{0}});
}

TEST_CASE("a rank that waits for its peers' sums gives them twice its own deadline") {
  BalancerFixture f;
  f.environment.control_plane.late_sums = {kFirstWindow};
  f.steps(2);
  f.settle();
  f.environment.clock.time_ns = 2 * kDeadlineNs;
  f.settle();
  CHECK(next_post(f) == Failure{});
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  f.settle();
  CHECK(next_post(f) == Failure{.cause = FailureCause::kDeadline,
                                .rank = RankId{0},
                                .state = MigrationState::kAggregating});
}

TEST_CASE("a plan has a deadline") {
  BalancerFixture f;
  f.ask_for_plan();
  f.environment.clock.time_ns = kDeadlineNs;
  f.settle();
  CHECK(next_post(f) == Failure{});
  f.environment.clock.time_ns = kDeadlineNs + 1;
  f.settle();
  CHECK(next_post(f) == Failure{.cause = FailureCause::kDeadline,
                                .rank = RankId{0},
                                .state = MigrationState::kPlanning});
}

TEST_CASE("rows on the wire have a deadline that begins anew with each that lands") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  // Else the first layer would be committed, which is progress too.
  f.environment.control_plane.change_peer = [](Status& status) { status.landed_layers = 0; };
  f.environment.clock.time_ns = kDeadlineNs;
  f.environment.transport.tickets.done_value = 1;
  f.settle();
  f.environment.clock.time_ns = 2 * kDeadlineNs;
  f.settle();
  CHECK(next_post(f) == Failure{});
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  f.settle();
  CHECK(next_post(f) == Failure{.cause = FailureCause::kDeadline,
                                .rank = RankId{0},
                                .state = MigrationState::kMoving,
                                .layer = LayerId{1}});
}

TEST_CASE("a commit that does not end in time ends the group") {
  BalancerFixture f;
  f.environment.forward.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  f.environment.clock.time_ns = kDeadlineNs;
  f.settle();
  CHECK(f.environment.control_plane.ends.empty());
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK_FALSE(f.balancer().progress());
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kDeadline,
                                              .rank = RankId{0},
                                              .state = MigrationState::kMoving});
}

TEST_CASE(
    "an abort that does not end in time ends the group, by the rank whose rows are in flight") {
  for (const bool own_rows : {true, false}) {
    CAPTURE(own_rows);
    BalancerFixture f;
    f.environment.transport.tickets.held_back = own_rows;
    f.ask_for_plan();
    f.answer(BalancerFixture::exchanged());
    f.environment.control_plane.change_peer = [](Status& status) {
      status.drained = false;
      status.failure = {.cause = FailureCause::kPlanFailed, .rank = RankId{1}};
    };
    f.steps(1);
    REQUIRE(f.balancer().state() == MigrationState::kAborting);
    f.environment.clock.time_ns = kDeadlineNs + 1;
    f.settle();
    CHECK(f.environment.control_plane.ends ==
          (own_rows ? std::vector<Failure>{{.cause = FailureCause::kDeadline,
                                            .rank = RankId{0},
                                            .state = MigrationState::kAborting}}
                    : std::vector<Failure>{}));
  }
}

TEST_CASE("an abort by a rank's own failure has a deadline too") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.transport.tickets.failed = {1};
  f.settle();
  f.steps(1);
  REQUIRE(f.balancer().state() == MigrationState::kAborting);
  // The second batch is still on the wire.
  f.environment.clock.time_ns = kDeadlineNs + 1;
  f.settle();
  CHECK(f.environment.control_plane.ends.size() == 1);
}

TEST_CASE("a status that stays away ends the group and names the rank and its last state") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  f.environment.clock.time_ns = kDeadlineNs;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.ends.empty());
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kStatusMissing,
                                              .rank = RankId{1},
                                              .state = MigrationState::kMoving});
}

TEST_CASE("a status that was late and came does not shorten the patience for the next one") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  auto& board = f.environment.control_plane;
  board.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  f.environment.clock.time_ns = kDeadlineNs;
  Status status = board.posts.back();
  status.rank = RankId{1};
  status.landed_layers = 0;
  board.post_of(status);
  CHECK(f.step() == StepDecision::kProceed);
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kHold);
  CHECK(board.ends.empty());
}

TEST_CASE("a rank that has posted nothing since the trigger is known to have been idle") {
  BalancerFixture f;
  f.ask_for_plan();
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kStatusMissing,
                                              .rank = RankId{1},
                                              .state = MigrationState::kIdle});
}

TEST_CASE("a peer that posts but gets nowhere is named after twice the deadline") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.control_plane.change_peer = [](Status& status) { status.landed_layers = 0; };
  f.steps(1);
  f.environment.clock.time_ns = 2 * kDeadlineNs;
  CHECK(next_post(f) == Failure{});
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  // The first status that was posted after that time counts.
  CHECK(next_post(f) == Failure{});
  CHECK(next_post(f) == Failure{});
  CHECK(next_post(f) == Failure{.cause = FailureCause::kStalled,
                                .rank = RankId{1},
                                .state = MigrationState::kMoving});
  f.steps(1);
  CHECK(f.balancer().rearrangements().front().abort.rank == RankId{1});
}

TEST_CASE("a peer that never gets a plan is named after twice the deadline") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.control_plane.change_peer = [](Status& status) {
    status.state = MigrationState::kPlanning;
    status.landed_layers = 0;
    status.digest = 0;
  };
  f.steps(1);
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  f.steps(2);
  CHECK(next_post(f) == Failure{.cause = FailureCause::kStalled,
                                .rank = RankId{1},
                                .state = MigrationState::kPlanning});
}

TEST_CASE("a peer whose commit never ends, and says nothing, ends the group") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.control_plane.change_peer = [](Status& status) { status.retired_layers = 0; };
  f.steps(1);
  f.settle();
  f.steps(1);
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  f.steps(1);
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(
      f.environment.control_plane.ends ==
      std::vector<Failure>{
          {.cause = FailureCause::kStalled, .rank = RankId{1}, .state = MigrationState::kMoving}});
  CHECK(f.step() == StepDecision::kStop);
}

TEST_CASE("a group that ran no step for long has not stalled") {
  for (const std::int32_t lead : {0, 2}) {
    CAPTURE(lead);
    EplbOptions options = test::small_options();
    options.commit_lead_steps = lead;
    BalancerFixture f(options);
    f.ask_for_plan();
    f.answer(BalancerFixture::exchanged());
    f.steps(lead + 1);
    CHECK(f.balancer().committed_layer_count() == 3);
    f.settle();
    f.environment.clock.time_ns = 10 * kDeadlineNs;
    f.steps(lead + 1);
    CHECK(f.environment.control_plane.ends.empty());
    REQUIRE(f.balancer().rearrangements().size() == 1);
    CHECK_FALSE(f.balancer().rearrangements()[0].abort);
  }
}

TEST_CASE("a deadline that is shrunk to nothing aborts, in each state with work of its own") {
  BalancerFixture f;
  f.environment.faults.firing = {env::FaultPoint::kShortDeadline};
  f.steps(2);
  CHECK(next_post(f).state == MigrationState::kAggregating);
  f.steps(1);
  CHECK(f.balancer().rearrangements().front().abort.cause == FailureCause::kDeadline);
}

}  // namespace
}  // namespace eplb
