// Goal: in sync mode no forward runs from the trigger to the last commit, and a round ends when
// every rank has done what it can: a pool-full. Method: rank 0 of two, driven by hand.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::agreement;
using test::BalancerFixture;
using test::kDeadlineNs;

EplbOptions sync_options() {
  EplbOptions options = test::small_options();
  options.use_async = false;
  options.commit_lead_steps = 2;  // Means nothing where no step is run.
  return options;
}

/// As far as the answer to the first plan, in the held step 1.
void hold_and_plan(BalancerFixture& f, const Placement& after) {
  f.steps(1);
  CHECK(f.step() == StepDecision::kHold);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(f.step() == StepDecision::kHold);
  f.answer(after);
}

TEST_CASE("sync mode holds from the trigger to the last commit and counts the step once") {
  BalancerFixture f(sync_options());
  hold_and_plan(f, BalancerFixture::exchanged());
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.balancer().committed_layer_count() == 3);
  f.settle();
  CHECK(f.step() == StepDecision::kProceed);
  REQUIRE(f.balancer().rearrangements().size() == 1);
  CHECK(f.balancer().rearrangements()[0].start_step == 1);
  CHECK(f.balancer().rearrangements()[0].end_step == 1);
  CHECK(f.environment.recorder.closed.size() == 2);
  CHECK(f.balancer().steps_until_rearrangement() == 8);
  f.steps(7);
  CHECK(f.step() == StepDecision::kHold);
}

TEST_CASE("layers that share no pool go pool-full by pool-full") {
  BalancerFixture f(sync_options());
  hold_and_plan(f, BalancerFixture::swapped());
  std::vector<std::int64_t> committed;
  for (int round = 0; round < 3; ++round) {
    CHECK(f.environment.transport.copies.size() == static_cast<std::size_t>(round) + 1);
    CHECK(f.step() == StepDecision::kHold);
    committed.push_back(f.balancer().committed_layer_count());
    f.settle();
  }
  CHECK(committed == std::vector<std::int64_t>{1, 2, 3});
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.balancer().placement() == BalancerFixture::swapped());
  // One status a pool-full and one for the end, after that of the start-up.
  CHECK(f.environment.control_plane.posts.size() == 5);
  CHECK(f.environment.control_plane.posts.back().key == agreement(1, 3));
  CHECK(f.environment.control_plane.posts.back().retired_layers == 3);
}

TEST_CASE("a rank posts when it can do nothing more until all have, and not before") {
  BalancerFixture f(sync_options());
  f.environment.transport.tickets.held_back = true;
  f.environment.forward.tickets.held_back = true;
  hold_and_plan(f, BalancerFixture::exchanged());
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.posts.size() == 1);
  f.environment.transport.tickets.held_back = false;
  f.settle();
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.posts.size() == 2);
  CHECK(f.environment.control_plane.posts.back().landed_layers == 3);
  CHECK(f.balancer().committed_layer_count() == 3);
  f.settle();
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.posts.size() == 2);
  f.environment.forward.tickets.held_back = false;
  f.settle();
  CHECK(f.step() == StepDecision::kProceed);
}

TEST_CASE(
    "a peer's failure is answered at once, and the held step goes on with the old placement") {
  BalancerFixture f(sync_options());
  f.environment.transport.tickets.held_back = true;
  hold_and_plan(f, BalancerFixture::exchanged());
  f.environment.control_plane.silent_peers = {RankId{1}};
  const Failure failure{
      .cause = FailureCause::kPlanFailed, .rank = RankId{1}, .state = MigrationState::kPlanning};
  f.environment.control_plane.post_of({.rank = RankId{1},
                                       .key = agreement(1, 0),
                                       .state = MigrationState::kPlanning,
                                       .failure = failure});
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.balancer().state() == MigrationState::kAborting);
  f.environment.control_plane.post_of({.rank = RankId{1},
                                       .key = agreement(1, 1),
                                       .state = MigrationState::kAborting,
                                       .drained = true});
  CHECK(f.step() == StepDecision::kHold);
  f.environment.transport.tickets.held_back = false;
  f.settle();
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.balancer().rearrangements().front().abort == failure);
  CHECK(f.balancer().placement() == Placement::initial(BalancerFixture::kShape));
}

TEST_CASE("a failure of its own is posted at once though its work is not done") {
  BalancerFixture f(sync_options());
  f.environment.transport.tickets.held_back = true;
  f.environment.transport.tickets.failed = {1};
  hold_and_plan(f, BalancerFixture::exchanged());
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.posts.back().failure ==
        Failure{.cause = FailureCause::kTransferFailed,
                .rank = RankId{0},
                .state = MigrationState::kMoving,
                .layer = LayerId{0}});
  CHECK(f.balancer().state() == MigrationState::kAborting);
}

TEST_CASE("a held rank takes a peer for gone only if nothing at all is heard of it") {
  BalancerFixture f(sync_options());
  hold_and_plan(f, BalancerFixture::exchanged());
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  f.environment.control_plane.heard_from[1] = kDeadlineNs;
  f.environment.clock.time_ns = 2 * kDeadlineNs;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.ends.empty());
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kStatusMissing,
                                              .rank = RankId{1},
                                              .state = MigrationState::kIdle});
}

TEST_CASE("a rank that holds tells the others now and then that it lives") {
  BalancerFixture f(sync_options());
  hold_and_plan(f, BalancerFixture::exchanged());
  f.environment.control_plane.silent_peers = {RankId{1}};
  const std::int64_t before = f.environment.control_plane.heartbeat_count;
  for (int poll = 0; poll < 32; ++poll) {
    f.environment.clock.time_ns += kDeadlineNs / 32;
    CHECK(f.step() == StepDecision::kHold);
  }
  // Eight in a deadline at most, each after more than an eighth of it.
  CHECK(f.environment.control_plane.heartbeat_count - before == 6);
}

TEST_CASE("a held rank that waits for its peers' rows gives up after twice the deadline") {
  BalancerFixture f(sync_options());
  f.environment.control_plane.peers_retired = 0;
  hold_and_plan(f, BalancerFixture::swapped());
  CHECK(f.step() == StepDecision::kHold);
  f.settle();
  CHECK(f.balancer().committed_layer_count() == 1);
  f.environment.clock.time_ns = 2 * kDeadlineNs;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.balancer().state() == MigrationState::kMoving);
  f.environment.clock.time_ns = 2 * kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.balancer().state() == MigrationState::kAborting);
  f.settle();
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.balancer().rearrangements().front().committed_layers == 1);
  CHECK(f.balancer().rearrangements().front().abort == Failure{.cause = FailureCause::kDeadline,
                                                               .rank = RankId{0},
                                                               .state = MigrationState::kMoving,
                                                               .layer = LayerId{1}});
}

}  // namespace
}  // namespace eplb
