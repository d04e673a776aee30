// Goal: what a rank's core did beside threads, clocks and other ranks can be done again without
// them. Method: runs with aborts, drains and an end, each rank's recording replayed on a fresh
// balancer, which must make the same calls and end with the same placement.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "eplb/group/recording.hpp"
#include "served_world.hpp"

namespace eplb {
namespace {

using test::ServedWorld;

/// Between two runs no rank commits, so placements stay while recordings grow.
void check_replay(ServedWorld& served) {
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CAPTURE(rank);
    const Placement placement = served.placement(RankId{rank});
    served->with_calls(RankId{rank}, [&](const group::RecordedCalls& calls) {
      CHECK(calls.size() > 100);
      const Result<Placement> replayed = group::replay(served.options().settings, calls);
      INFO((replayed ? std::string() : replayed.error().message));
      REQUIRE(replayed.has_value());
      CHECK(*replayed == placement);
    });
  }
}

TEST_CASE("recorded rearrangements can be replayed, call for call") {
  ServedWorld served(test::served(test::served_options()));
  served.rearrange_until(4);
  check_replay(served);
}

TEST_CASE("a recorded abort, sleep and wake-up can be replayed") {
  EplbOptions options = test::served_options();
  options.use_async = false;
  ServedWorld served(test::served(options));
  served->break_transfers(RankId{2});
  served.rearrange_until(1);
  served->break_transfers(std::nullopt);
  served->drain();
  served.run_until_drained();
  REQUIRE(served->release_memory().has_value());
  REQUIRE(served->reserve_memory().has_value());
  served->resume();
  served.rearrange_until(3);
  check_replay(served);
}

TEST_CASE("the recorded end of a group can be replayed") {
  EplbOptions options = test::served_options();
  options.on_failure = OnFailure::kRaise;
  ServedWorld served(test::served(options));
  served->break_plans(RankId{2}, true);
  CHECK(served.run_until_stopped().cause == FailureCause::kPlanFailed);
  check_replay(served);
}

}  // namespace
}  // namespace eplb
