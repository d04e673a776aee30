// Goal: hosts that lose each other end the group alike, and a clean goodbye is no loss. Method:
// memberships that take themselves for four hosts of two ranks; their processes are this one, so
// that a host is lost here by closing its way to the others.
#include <doctest/doctest.h>

#include <algorithm>

#include "joined_ranks.hpp"

namespace eplb::test {
namespace {

/// All ranks but those of `gone` end with the same failure.
void check_lost(JoinedRanks& ranks, std::size_t gone, RankId lost) {
  const Failure expected{.cause = FailureCause::kRankLost, .rank = lost};
  for (std::size_t rank = 0; rank < ranks.planes.size(); ++rank) {
    if (rank / 2 != gone) {
      CAPTURE(rank);
      CHECK(eventually([&] { return ranks[rank].group_failure().has_value(); }));
      CHECK(ranks[rank].group_failure() == expected);
    }
  }
}

TEST_CASE("hosts: one that is cut off ends the group on all others, with its lowest rank") {
  for (std::size_t gone = 0; gone < 3; ++gone) {
    CAPTURE(gone);
    JoinedRanks ranks = join_ranks(Joining::kHosts, 6, {});
    ranks.planes[2 * gone].reset();
    ranks.memberships[2 * gone].reset();
    check_lost(ranks, gone, RankId{static_cast<std::int32_t>(2 * gone)});
  }
}

TEST_CASE("hosts: those who say goodbye together are no loss to each other") {
  JoinedRanks ranks = join_ranks(Joining::kHosts, 6, {});
  run_beside(6, [&](std::size_t rank) { ranks.memberships[rank]->leave(kPatienceMs); });
  for (std::size_t rank = 0; rank < 6; ++rank) {
    CHECK(!ranks[rank].group_failure());
    for (std::int32_t peer = 0; peer < 6; ++peer) {
      CHECK(ranks.memberships[rank]->board().has_left(RankId{peer}));
    }
  }
}

TEST_CASE("hosts: what a rank says last before its goodbye still arrives") {
  JoinedRanks ranks = join_ranks(Joining::kHosts, 4, {});
  Status last;
  last.rank = RankId{3};
  last.key = {.rearrangement = 2, .round = 9};
  ranks[3].post(last);
  run_beside(4, [&](std::size_t rank) { ranks.memberships[rank]->leave(kPatienceMs); });
  REQUIRE(ranks[0].find(RankId{3}, last.key) != nullptr);
  CHECK(*ranks[0].find(RankId{3}, last.key) == last);
}

}  // namespace
}  // namespace eplb::test
