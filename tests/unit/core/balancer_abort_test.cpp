// Goal: an abort has the same reason on every rank, takes back nothing that was committed, and
// touches no row after its end; what cannot be taken back ends the group. Method: rank 0 of two,
// failures injected into its devices or posted in its peer's name.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;

constexpr Failure kPeerFailure{.cause = FailureCause::kTransferFailed,
                               .rank = RankId{1},
                               .state = MigrationState::kMoving,
                               .layer = LayerId{2}};

/// From now on the peer's statuses ask to abort.
void fail_peer(BalancerFixture& f, const Failure& failure = kPeerFailure) {
  f.environment.control_plane.change_peer = [failure](Status& status) {
    if (status.state != MigrationState::kAborting) {
      status.failure = failure;
    }
  };
}

/// Steps until the rearrangement has ended, and why it did.
Failure steps_to_end(BalancerFixture& f) {
  for (int step = 0; f.balancer().rearrangements().empty(); ++step) {
    REQUIRE(step < 20);
    f.steps(1);
    f.settle();
  }
  CHECK(f.balancer().state() == MigrationState::kIdle);
  return f.balancer().rearrangements()[0].abort;
}

TEST_CASE("plans that differ are given up before anything is committed, and name the rank") {
  BalancerFixture f;
  f.ask_for_plan();
  f.environment.control_plane.change_peer = [](Status& status) { status.digest ^= 1; };
  f.answer(BalancerFixture::exchanged());
  CHECK(steps_to_end(f) == Failure{.cause = FailureCause::kPlansDiffer,
                                   .rank = RankId{1},
                                   .state = MigrationState::kMoving});
  CHECK(f.environment.publisher.published.empty());
  CHECK(f.balancer().placement() == Placement::initial(BalancerFixture::kShape));
}

TEST_CASE("a peer's failure aborts with the peer's reason, whatever this rank has landed") {
  for (const std::int32_t lead : {0, 1, 2}) {
    CAPTURE(lead);
    EplbOptions options = test::small_options();
    options.commit_lead_steps = lead;
    BalancerFixture f(options);
    f.ask_for_plan();
    fail_peer(f);
    f.answer(BalancerFixture::exchanged());
    f.steps(lead);
    CHECK(f.balancer().state() == MigrationState::kMoving);
    f.steps(1);
    CHECK(f.balancer().state() == MigrationState::kAborting);
    // The statuses that were under way say nothing of the abort's end.
    f.steps(lead);
    CHECK(f.balancer().rearrangements().empty());
    f.steps(1);
    REQUIRE(f.balancer().rearrangements().size() == 1);
    CHECK(f.balancer().rearrangements()[0].abort == kPeerFailure);
    CHECK(f.balancer().rearrangements()[0].end_step == 2 + 2 * lead + 1);
    CHECK(f.environment.publisher.published.empty());
  }
}

TEST_CASE("a peer that fails before this rank has a plan aborts it all the same") {
  BalancerFixture f;
  f.ask_for_plan();
  fail_peer(f);
  CHECK(steps_to_end(f) == kPeerFailure);
  CHECK(f.environment.transport.copies.empty());
}

TEST_CASE("layers that were committed before an abort stay, and the next interval tries again") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.transport.tickets.done_value = 1;
  f.settle();
  f.steps(1);
  CHECK(f.balancer().committed_layer_count() == 1);
  f.environment.transport.tickets.held_back = false;
  f.environment.transport.tickets.failed = {2};
  f.settle();
  CHECK(steps_to_end(f) == Failure{.cause = FailureCause::kTransferFailed,
                                   .rank = RankId{0},
                                   .state = MigrationState::kMoving,
                                   .layer = LayerId{1}});
  CHECK(f.balancer().rearrangements()[0].committed_layers == 1);
  CHECK(f.balancer().placement() ==
        Placement::initial(BalancerFixture::kShape)
            .with_layer(LayerId{0}, BalancerFixture::exchanged().layer(LayerId{0})));
  f.environment.transport.tickets.failed.clear();
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  CHECK(f.balancer().placement() == BalancerFixture::exchanged());
}

TEST_CASE("of several failures in one step the lowest rank's counts") {
  BalancerFixture f;
  f.environment.transport.refuses = true;
  f.ask_for_plan();
  fail_peer(f);
  f.answer(BalancerFixture::exchanged());
  CHECK(steps_to_end(f).rank == RankId{0});
}

TEST_CASE("a transfer that could not be started aborts the layer") {
  BalancerFixture f;
  f.environment.transport.refuses = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  CHECK(f.environment.control_plane.posts.back().failure == Failure{});
  CHECK(steps_to_end(f) == Failure{.cause = FailureCause::kTransferFailed,
                                   .rank = RankId{0},
                                   .state = MigrationState::kMoving,
                                   .layer = LayerId{0}});
}

TEST_CASE("a policy that refuses aborts") {
  BalancerFixture f;
  f.ask_for_plan();
  f.environment.planner.answers.push_back(
      {.rearrangement = 1, .schedule = fail(ErrorCode::kInvalidArgument, "cannot")});
  f.settle();
  CHECK(steps_to_end(f) == Failure{.cause = FailureCause::kPlanFailed,
                                   .rank = RankId{0},
                                   .state = MigrationState::kPlanning});
}

TEST_CASE("an abort waits for what this rank has under way, and for what its peers have") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.environment.migration.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::swapped());
  bool peer_drained = false;
  f.environment.control_plane.change_peer = [&](Status& status) {
    status.failure = status.state == MigrationState::kAborting ? Failure{} : kPeerFailure;
    status.drained = peer_drained;
  };
  f.steps(3);
  f.settle();
  CHECK_FALSE(f.environment.control_plane.posts.back().drained);
  f.environment.transport.tickets.done_value = 1;
  f.settle();
  f.steps(1);
  CHECK_FALSE(f.environment.control_plane.posts.back().drained);
  f.environment.migration.tickets.done_value = 1;
  f.settle();
  f.steps(1);
  CHECK(f.environment.control_plane.posts.back().drained);
  CHECK(f.balancer().rearrangements().empty());
  peer_drained = true;
  f.steps(1);
  CHECK(f.balancer().rearrangements().size() == 1);
}

TEST_CASE("an abort waits for commits that have not run yet") {
  BalancerFixture f;
  f.environment.forward.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::swapped());
  f.steps(1);
  CHECK(f.balancer().committed_layer_count() == 1);
  fail_peer(f);
  f.steps(3);
  CHECK(f.balancer().state() == MigrationState::kAborting);
  CHECK_FALSE(f.environment.control_plane.posts.back().drained);
  f.environment.forward.tickets.held_back = false;
  f.settle();
  CHECK(steps_to_end(f) == kPeerFailure);
}

TEST_CASE("an abort that is asked for too late leaves the next rearrangement alone") {
  EplbOptions options = test::small_options();
  options.commit_lead_steps = 2;
  BalancerFixture f(options);
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  while (f.environment.control_plane.posts.back().retired_layers < 3) {
    f.steps(1);
    f.settle();
  }
  f.balancer().drain();
  f.balancer().resume();
  CHECK_FALSE(steps_to_end(f));
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  CHECK(f.balancer().rearrangements().size() == 1);
  f.answer(BalancerFixture::swapped());
  f.steps(3);
  CHECK(f.balancer().epoch(LayerId{0}) == 2);
}

TEST_CASE("the time since an earlier abort is not the next rearrangement's") {
  BalancerFixture f;
  f.ask_for_plan();
  f.steps(1);
  fail_peer(f);
  f.steps(2);
  f.environment.control_plane.change_peer = nullptr;
  f.environment.clock.time_ns = 10 * test::kDeadlineNs;
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  f.steps(5);
  CHECK(f.balancer().state() == MigrationState::kPlanning);
  CHECK(f.balancer().rearrangements().size() == 1);
}

TEST_CASE("a transfer that fails is never posted as landed with one before it") {
  BalancerFixture f;
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.environment.planner.answer(f.environment.planner.requests[0], BalancerFixture::exchanged());
  // The answer and the first batch; then the link breaks.
  while (f.environment.transport.copies.empty()) {
    CHECK(f.balancer().progress());
  }
  f.environment.transport.refuses = true;
  CHECK(f.balancer().progress());
  f.steps(1);
  CHECK(f.environment.control_plane.posts.back().landed_layers == 0);
  CHECK(f.environment.control_plane.posts.back().failure.layer == LayerId{1});
  CHECK(f.environment.publisher.published.empty());
}

TEST_CASE("an answer to a request that was given up is told by its number and dropped") {
  BalancerFixture f;
  f.ask_for_plan();
  fail_peer(f);
  CHECK(steps_to_end(f) == kPeerFailure);
  f.environment.control_plane.change_peer = nullptr;
  // The planner is slow: its first answer comes when the second is asked for.
  f.environment.planner.answer(f.environment.planner.requests[0], BalancerFixture::swapped());
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  CHECK(f.environment.planner.answers.empty());
  CHECK(f.balancer().state() == MigrationState::kPlanning);
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  CHECK(f.balancer().placement() == BalancerFixture::exchanged());
}

TEST_CASE("parts of the load that not all ranks have planned on are no history") {
  // An abort may meet one rank while it plans and another while it still sums: both must show their
  // policies the same past afterwards.
  BalancerFixture f;
  f.ask_for_plan();
  fail_peer(f);
  CHECK(steps_to_end(f) == kPeerFailure);
  f.environment.control_plane.change_peer = nullptr;
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  CHECK(f.environment.planner.requests[1].history.size() == 1);
}

}  // namespace
}  // namespace eplb
