// Goal: no rank gets past a step that another has not come to, and whoever waits in vain learns
// why. Method: threads that count arrivals, in all three ways of joining ranks; a rank that stays
// away, a group that has ended.
#include "eplb/group/step_barrier.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "joined_ranks.hpp"

namespace eplb::test {
namespace {

constexpr group::SumSizes kSizes{.window_values_max = 1, .balancedness_values_max = 1};
constexpr std::int32_t kRanks = 4;

/// By rank.
std::vector<group::StepBarrier> barriers_of(JoinedRanks& joined) {
  std::vector<group::StepBarrier> barriers;
  barriers.reserve(static_cast<std::size_t>(kRanks));
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    for (const auto& membership : joined.memberships) {
      const auto& own = membership->members()[membership->own_index()].ranks;
      if (std::ranges::count(own, RankId{rank}) > 0) {
        barriers.push_back(membership->step_barrier(RankId{rank}));
      }
    }
  }
  return barriers;
}

TEST_CASE("steps: no rank passes before all have come") {
  for (const Joining joining : {Joining::kThreads, Joining::kProcesses, Joining::kHosts}) {
    JoinedRanks joined = join_ranks(joining, kRanks, kSizes);
    std::vector<group::StepBarrier> barriers = barriers_of(joined);
    REQUIRE(barriers.size() == static_cast<std::size_t>(kRanks));
    constexpr std::int64_t kSteps = 50;
    std::array<std::atomic<std::int32_t>, kSteps + 1> come{};
    std::atomic<std::int32_t> early = 0;
    std::atomic<std::int32_t> refused = 0;
    run_beside(barriers.size(), [&](std::size_t rank) {
      for (std::int64_t step = 1; step <= kSteps; ++step) {
        ++come.at(static_cast<std::size_t>(step));
        refused += barriers[rank].wait(step, kPatienceMs) ? 0 : 1;
        early += come.at(static_cast<std::size_t>(step)) == kRanks ? 0 : 1;
      }
    });
    CHECK(early == 0);
    CHECK(refused == 0);
  }
}

TEST_CASE("steps: who does not come in time is named, and ends the group") {
  JoinedRanks joined = join_ranks(Joining::kThreads, kRanks, kSizes);
  std::vector<group::StepBarrier> barriers = barriers_of(joined);
  std::vector<Result<void>> results(3);
  run_beside(3, [&](std::size_t rank) { results[rank] = barriers[rank].wait(1, 50); });
  for (const Result<void>& result : results) {
    REQUIRE_FALSE(result.has_value());
  }
  const auto failure = joined[0].group_failure();
  REQUIRE(failure.has_value());
  CHECK(failure->cause == FailureCause::kStatusMissing);
  CHECK(failure->rank == RankId{3});
}

TEST_CASE("steps: nobody waits in a group that has ended") {
  JoinedRanks joined = join_ranks(Joining::kProcesses, kRanks, kSizes);
  std::vector<group::StepBarrier> barriers = barriers_of(joined);
  joined[2].end_group({.cause = FailureCause::kRankLost, .rank = RankId{1}});
  const Result<void> result = barriers[0].wait(1, kPatienceMs);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kAborted);
}

}  // namespace
}  // namespace eplb::test
