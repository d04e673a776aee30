// Goal: what a step was decides what is counted of it: profile steps move nothing, dummy steps move
// the cadence and no count, and without any load the placement stays. Method: kinds by forward and
// rank; the passes that each rank was given, compared with what was sent.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "eplb/core/balancedness.hpp"
#include "print_vector.hpp"
#include "served_world.hpp"

namespace eplb {
namespace {

using test::RankHistory;
using test::ServedWorld;

constexpr RankId kIdleRank{1};

TEST_CASE("profile steps move no counter and are counted nowhere") {
  constexpr std::int64_t kProfileSteps = 5;
  test::WorldOptions world = test::served(test::served_options());
  world.kind = [](RankId /*rank*/, std::int64_t forward) {
    return forward < kProfileSteps ? StepKind::kProfile : StepKind::kReal;
  };
  ServedWorld served(world);
  served.rearrange_until(2);
  served.check_content();
  served.check_histories();
  CHECK(served.rearrangements(RankId{0}).front().start_step == 1);
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CAPTURE(rank);
    const RankHistory history = served.history(RankId{rank});
    REQUIRE(history.passes.size() > 8);
    for (std::size_t index = 0; index < history.passes.size(); ++index) {
      const env::RecordedPass& pass = history.passes[index];
      CHECK(pass.step == static_cast<std::int64_t>(index));
      CHECK(pass.logical == test::some_tokens(RankId{rank}, pass.step + kProfileSteps));
    }
  }
}

TEST_CASE("a rank's dummy steps count for the cadence and nowhere else") {
  test::WorldOptions world = test::served(test::served_options());
  world.kind = [](RankId rank, std::int64_t forward) {
    return rank == kIdleRank && forward % 2 == 1 ? StepKind::kDummy : StepKind::kReal;
  };
  ServedWorld served(world);
  served.rearrange_until(3);
  served.check_content();
  served.check_histories();
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CAPTURE(rank);
    CHECK(served.rearrangements(RankId{rank}).front().start_step == 1);
    const RankHistory history = served.history(RankId{rank});
    REQUIRE(history.passes.size() > 8);
    for (const env::RecordedPass& pass : history.passes) {
      CAPTURE(pass.step);
      const bool dummy = RankId{rank} == kIdleRank && pass.step % 2 == 1;
      CHECK(pass.use.dummy == dummy);
      CHECK_FALSE((dummy && pass.use.record));
      const LoadMatrix sent = test::some_tokens(RankId{rank}, pass.step);
      CHECK(pass.logical == (dummy ? LoadMatrix(sent * 0) : sent));
    }
  }
}

TEST_CASE("without any load the placement stays, and nothing is moved") {
  test::WorldOptions world = test::served(test::served_options());
  world.tokens = [](RankId /*rank*/, std::int64_t /*forward*/) {
    return LoadMatrix(LoadMatrix::Zero(3, 8));
  };
  ServedWorld served(world);
  served.rearrange_until(3);
  served.check_content();
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CHECK(served.placement(RankId{rank}) == Placement::initial(served.shape()));
    const RankHistory history = served.history(RankId{rank});
    CHECK(history.published.empty());
    CHECK(test::records_of(history, env::TraceEvent::kPlanSkipped).size() >= 3);
    CHECK(test::records_of(history, env::TraceEvent::kTransferStarted).empty());
  }
}

TEST_CASE("a logged step's balancedness is that of what all ranks sent to each rank") {
  ServedWorld served(test::served(test::served_options()));
  REQUIRE(served->run(6));
  served->drain();
  served.run_until_drained();
  const std::vector<RankHistory> all = served.histories();
  const auto logged = test::records_of(all.front(), env::TraceEvent::kBalancedness);
  REQUIRE(logged.size() >= 6);
  const auto per_rank = served.shape().slots_per_rank();
  for (const env::TraceRecord& record : logged) {
    CAPTURE(record.subject);
    RankLoadMatrix loads = RankLoadMatrix::Zero(3, 4);
    for (const RankHistory& history : all) {
      const env::RecordedPass& pass = history.passes[static_cast<std::size_t>(record.subject)];
      REQUIRE(pass.step == record.subject);
      for (std::int32_t slot = 0; slot < served.shape().slot_count(); ++slot) {
        loads.col(slot / per_rank) += pass.physical.col(slot);
      }
    }
    CHECK(record.value == std::llround(balancedness(loads).value * 1e6));
  }
}

}  // namespace
}  // namespace eplb
