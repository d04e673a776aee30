// Goal: what cannot be taken back, or is to be raised, stops every rank with one reason, and no
// forward runs any more. Method: rank 0 of two, with failing commits, peers and groups.
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;

TEST_CASE("where failures are raised, every rank stops with the same one and runs no forward") {
  EplbOptions options = test::small_options();
  options.on_failure = OnFailure::kRaise;
  BalancerFixture f(options);
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  const Failure failure{.cause = FailureCause::kTransferFailed,
                        .rank = RankId{1},
                        .state = MigrationState::kMoving,
                        .layer = LayerId{2}};
  f.environment.control_plane.change_peer = [failure](Status& status) { status.failure = failure; };
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == failure);
  CHECK(f.environment.publisher.published.empty());
  const std::size_t closed = f.environment.recorder.closed.size();
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.step(StepKind::kProfile) == StepDecision::kStop);
  CHECK_FALSE(f.balancer().progress());
  CHECK(f.environment.recorder.closed.size() == closed + 1);
}

TEST_CASE(
    "a commit that fails ends the group, and the rank holds until it knows the group's reason") {
  BalancerFixture f;
  f.environment.control_plane.ends_at_once = false;
  f.environment.forward.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  CHECK(f.balancer().committed_layer_count() == 3);
  f.environment.forward.tickets.failed = {1};
  CHECK_FALSE(f.balancer().progress());
  CHECK(f.environment.control_plane.ends ==
        std::vector<Failure>{{.cause = FailureCause::kCopyFailed,
                              .rank = RankId{0},
                              .state = MigrationState::kMoving,
                              .layer = LayerId{0}}});
  CHECK(f.step() == StepDecision::kHold);
  CHECK_FALSE(f.balancer().progress());
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.control_plane.ends.size() == 1);
  // Another rank's end was first, so it counts on this one too.
  f.environment.control_plane.group_end = {.cause = FailureCause::kRankLost, .rank = RankId{1}};
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason().cause == FailureCause::kRankLost);
  CHECK(f.balancer().stop_reason().rank == RankId{1});
  CHECK(f.balancer().state() == MigrationState::kStopped);
}

TEST_CASE("a group that ends stops a rank that is idle") {
  BalancerFixture f;
  f.steps(1);
  f.environment.control_plane.group_end = {.cause = FailureCause::kRankLost, .rank = RankId{1}};
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason().rank == RankId{1});
}

}  // namespace
}  // namespace eplb
