// Goal: what fails on one rank ends alike on all: with one reason, and with what on_failure says;
// what was broken and is whole again serves on. Method: each kind of fault on one rank, the reasons
// of all ranks compared, and the content afterwards.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "served_world.hpp"

namespace eplb {
namespace {

using test::ServedWorld;

constexpr RankId kCulprit{1};

/// All ranks aborted the first rearrangement for one reason, and serve what they served before.
void check_first_aborted(ServedWorld& served, const Failure& reason) {
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CAPTURE(rank);
    const std::vector<Rearrangement> ended = served.rearrangements(RankId{rank});
    REQUIRE(ended.size() == 1);
    CHECK(describe(ended.front().abort) == describe(reason));
    CHECK(ended.front().committed_layers == 0);
    CHECK(served.placement(RankId{rank}) == Placement::initial(served.shape()));
  }
  served.check_content();
}

/// The next interval tries again, and succeeds.
void check_second_succeeds(ServedWorld& served) {
  served.rearrange_until(2);
  served.check_content();
  served.check_histories();
  const Rearrangement second = served.rearrangements(RankId{0}).back();
  CHECK(second.abort.cause == FailureCause::kNone);
  CHECK(second.committed_layers == 3);
}

test::WorldOptions turning(EplbOptions options) {
  test::WorldOptions world = test::served(std::move(options));
  world.policy = test::turning_policy();
  return world;
}

TEST_CASE("rows that do not arrive abort the rearrangement on all ranks, which serve on") {
  EplbOptions options = test::served_options();
  SUBCASE("async") {
    options.use_async = true;
  }
  SUBCASE("sync") {
    options.use_async = false;
  }
  ServedWorld served(turning(options));
  served->break_transfers(kCulprit);
  served.rearrange_until(1);
  check_first_aborted(served, {.cause = FailureCause::kTransferFailed,
                               .rank = kCulprit,
                               .state = MigrationState::kMoving,
                               .layer = LayerId{0}});
  served->break_transfers(std::nullopt);
  check_second_succeeds(served);
}

TEST_CASE("a plan that one rank cannot make aborts the rearrangement on all") {
  ServedWorld served(turning(test::served_options()));
  served->break_plans(kCulprit, true);
  served.rearrange_until(1);
  check_first_aborted(
      served,
      {.cause = FailureCause::kPlanFailed, .rank = kCulprit, .state = MigrationState::kPlanning});
  served->break_plans(kCulprit, false);
  check_second_succeeds(served);
}

TEST_CASE("told to raise, all ranks stop with the failure of the one") {
  EplbOptions options = test::served_options();
  options.on_failure = OnFailure::kRaise;
  ServedWorld served(turning(options));
  served->break_plans(kCulprit, true);
  const Failure reason = served.run_until_stopped();
  CHECK(reason.cause == FailureCause::kPlanFailed);
  CHECK(reason.rank == kCulprit);
}

TEST_CASE("a commit that fails ends the group, since what its slots hold is unknown") {
  ServedWorld served(turning(test::served_options()));
  served->break_commits(kCulprit);
  const Failure reason = served.run_until_stopped();
  CHECK(reason.cause == FailureCause::kCopyFailed);
  CHECK(reason.rank == kCulprit);
}

TEST_CASE("a lost rank ends the group for all others, with its name") {
  ServedWorld served(test::served(test::served_options()));
  served.rearrange_until(1);
  served->lose(kCulprit);
  const Failure reason = served.run_until_stopped(kCulprit);
  CHECK(reason.cause == FailureCause::kRankLost);
  CHECK(reason.rank == kCulprit);
}

TEST_CASE("a rank that cannot reserve its memory says so, and the group does not start") {
  test::WorldOptions options = test::served(test::served_options());
  options.memory_refused = kCulprit;
  const auto world = test::make_world(options);
  const Result<void> started = world->start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().code == ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace eplb
