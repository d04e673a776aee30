// Goal: the board keeps the contract of env::ControlPlane, whether ranks share it as threads or as
// processes or have a board a host with a bridge between. Method: every case runs in all three
// ways; where nothing may be waited for, what must come is looked for until it does.
#include <doctest/doctest.h>

#include <atomic>
#include <optional>

#include "deadline.hpp"
#include "joined_ranks.hpp"

namespace eplb::test {
namespace {

constexpr std::array kJoinings{Joining::kThreads, Joining::kProcesses, Joining::kHosts};

Status status_of(std::int32_t rank, std::int64_t rearrangement, std::int64_t round,
                 RoundKey::Channel channel = RoundKey::Channel::kAgreement) {
  Status status;
  status.rank = RankId{rank};
  status.key = {.channel = channel, .rearrangement = rearrangement, .round = round};
  status.state = MigrationState::kMoving;
  status.digest = static_cast<std::uint64_t>(std::int64_t{1000} * rank + round);
  status.landed_layers = static_cast<std::int32_t>(round);
  return status;
}

/// The status once it has come; a default one if it never does.
Status await_status(env::ControlPlane& plane, const Status& wanted) {
  const Status* found = nullptr;
  const bool came = eventually([&] {
    found = plane.find(wanted.rank, wanted.key);
    return found != nullptr;
  });
  return came ? *found : Status{};
}

template <typename Case>
void in_all_ways(std::int32_t rank_count, const Case& run) {
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    JoinedRanks ranks = join_ranks(joining, rank_count, {});
    run(ranks);
  }
}

TEST_CASE("group: a status comes to all ranks, its own included, and nothing comes of itself") {
  in_all_ways(4, [](JoinedRanks& ranks) {
    const Status posted = status_of(2, 5, 7);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(ranks[rank].rank().index() == rank);
      CHECK(ranks[rank].find(RankId{2}, posted.key) == nullptr);
    }
    ranks[2].post(posted);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(await_status(ranks[rank], posted) == posted);
      CHECK(ranks[rank].find(RankId{1}, posted.key) == nullptr);
      RoundKey other = posted.key;
      other.channel = RoundKey::Channel::kBarrier;
      CHECK(ranks[rank].find(RankId{2}, other) == nullptr);
    }
  });
}

TEST_CASE("group: the first status of a key counts, and late and repeated ones do no harm") {
  in_all_ways(4, [](JoinedRanks& ranks) {
    const Status first = status_of(3, 1, 4);
    Status again = first;
    again.landed_layers = 60;
    const Status late = status_of(3, 1, 2);
    const Status last = status_of(3, 1, 5);
    for (const Status& status : {first, again, first, late, last}) {
      ranks[3].post(status);
    }
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(await_status(ranks[rank], last) == last);
      CHECK(*ranks[rank].find(RankId{3}, first.key) == first);
      CHECK(*ranks[rank].find(RankId{3}, late.key) == late);
    }
  });
}

TEST_CASE("group: statuses stay, where they are, until the reader's own round is 64 on") {
  in_all_ways(4, [](JoinedRanks& ranks) {
    for (std::int64_t round = 0; round < 65; ++round) {
      ranks[0].post(status_of(0, 1, round));
    }
    const Status oldest = status_of(0, 1, 0);
    CHECK(await_status(ranks[2], status_of(0, 1, 64)) == status_of(0, 1, 64));
    const Status* found = ranks[2].find(RankId{0}, oldest.key);
    REQUIRE(found != nullptr);
    for (std::int64_t round = 0; round < 65; ++round) {
      ranks[2].post(status_of(2, 1, round));
    }
    CHECK(await_status(ranks[2], status_of(2, 1, 64)) == status_of(2, 1, 64));
    CHECK(ranks[2].find(RankId{0}, oldest.key) == found);
    CHECK(*found == oldest);

    ranks[2].post(status_of(2, 1, 65));
    ranks[0].post(status_of(0, 1, 65));
    CHECK(await_status(ranks[2], status_of(0, 1, 65)) == status_of(0, 1, 65));
    CHECK(ranks[2].find(RankId{0}, oldest.key) == nullptr);
    CHECK(ranks[2].find(RankId{0}, status_of(0, 1, 1).key) != nullptr);
  });
}

TEST_CASE("group: ranks that post rounds as fast as they find them never miss one") {
  constexpr std::int64_t kRounds = 2'000;
  constexpr std::int64_t kLead = 2;
  in_all_ways(4, [](JoinedRanks& ranks) {
    std::atomic<int> wrong = 0;
    run_beside(4, [&](std::size_t own) {
      const auto number = static_cast<std::int32_t>(own);
      for (std::int64_t round = 0; round < kRounds; ++round) {
        ranks[own].post(status_of(number, 1, round));
        for (std::int32_t peer = 0; peer < 4 && round >= kLead; ++peer) {
          const Status wanted = status_of(peer, 1, round - kLead);
          wrong += await_status(ranks[own], wanted) == wanted ? 0 : 1;
        }
        if (wrong > 0) {
          return;  // The first is enough; each further one would take all of the patience.
        }
      }
    });
    CHECK(wrong == 0);
  });
}

TEST_CASE("group: retired layers never fall, and two rearrangements are told apart") {
  in_all_ways(4, [](JoinedRanks& ranks) {
    CHECK(ranks[0].retired(RankId{1}, 6) == 0);
    ranks[1].post_retired(6, 3);
    ranks[1].post_retired(6, 2);
    ranks[1].post_retired(7, 1);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(eventually([&] { return ranks[rank].retired(RankId{1}, 7) == 1; }));
      CHECK(ranks[rank].retired(RankId{1}, 6) == 3);
      CHECK(ranks[rank].retired(RankId{1}, 8) == 0);
      CHECK(ranks[rank].retired(RankId{2}, 6) == 0);
    }
  });
}

TEST_CASE("group: a rank is heard of when it posts, by the monotonic clock") {
  in_all_ways(4, [](JoinedRanks& ranks) {
    const std::int64_t before_ns = group::monotonic_ns();
    CHECK(ranks[3].heard_ns(RankId{0}) == 0);
    ranks[0].post_heartbeat();
    CHECK(eventually([&] { return ranks[3].heard_ns(RankId{0}) >= before_ns; }));
    const std::int64_t first_ns = ranks[3].heard_ns(RankId{0});
    CHECK(first_ns <= group::monotonic_ns());
    CHECK(ranks[3].heard_ns(RankId{1}) == 0);
    ranks[0].post(status_of(0, 1, 0));
    CHECK(eventually([&] { return ranks[3].heard_ns(RankId{0}) > first_ns; }));
  });
}

TEST_CASE("group: of failures that race the first counts, and all ranks name the same") {
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    for (int race = 0; race < 10; ++race) {
      JoinedRanks ranks = join_ranks(joining, 4, {});
      CHECK(!ranks[0].group_failure());
      run_beside(4, [&](std::size_t own) {
        const RankId rank{static_cast<std::int32_t>(own)};
        ranks[own].end_group({.cause = FailureCause::kCopyFailed,
                              .rank = rank,
                              .state = MigrationState::kMoving,
                              .layer = LayerId{17}});
      });
      CHECK(eventually([&] { return ranks[0].group_failure().has_value(); }));
      const Failure failure = ranks[0].group_failure().value();
      CHECK(failure.cause == FailureCause::kCopyFailed);
      CHECK(failure.layer == LayerId{17});
      for (std::size_t rank = 1; rank < 4; ++rank) {
        CHECK(eventually([&] { return ranks[rank].group_failure().has_value(); }));
        CHECK(ranks[rank].group_failure() == failure);
      }
      ranks[3].end_group({.cause = FailureCause::kMemory, .rank = RankId{3}});
      CHECK(ranks[3].group_failure() == failure);
    }
  }
}

}  // namespace
}  // namespace eplb::test
