// Goal: sums over ranks have the same bits on every rank, added in order of ranks, whatever is
// under way beside them. Method: values whose sum depends on the order of adding, in all three ways
// of joining ranks; the oracle adds them in a loop.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>

#include "joined_ranks.hpp"
#include "seed.hpp"

namespace eplb::test {
namespace {

using Values = std::vector<double>;
using Kind = env::SumKey::Kind;

constexpr std::array kJoinings{Joining::kThreads, Joining::kProcesses, Joining::kHosts};
constexpr group::SumSizes kSizes{.window_values_max = 40'000, .balancedness_values_max = 64};

/// Values of very different sizes, a rank each.
std::vector<Values> draw(std::size_t rank_count, std::size_t value_count, std::uint64_t seed) {
  boost::random::mt19937_64 random(seed);
  boost::random::uniform_real_distribution<double> exponent(-30, 30);
  std::vector<Values> all(rank_count, Values(value_count));
  for (Values& values : all) {
    for (double& value : values) {
      value = std::exp2(exponent(random));
    }
  }
  return all;
}

Values sum_of(const std::vector<Values>& all) {
  Values sum(all.front().size(), 0.0);
  for (const Values& values : all) {
    for (std::size_t index = 0; index < sum.size(); ++index) {
      sum[index] += values[index];
    }
  }
  return sum;
}

/// Empty if it never comes.
Values await_sum(env::ControlPlane& plane, const env::SumKey& key) {
  std::shared_ptr<const Values> sum;
  const bool came = eventually([&] {
    sum = plane.try_take_sum(key);
    return sum != nullptr;
  });
  return came ? *sum : Values();
}

TEST_CASE("sums: the same bits on every rank, and forgotten once taken") {
  const std::uint64_t seed = run_seed();
  INFO(replay_hint(seed));
  const std::vector<Values> values = draw(4, 40'000, seed);
  const Values expected = sum_of(values);
  const env::SumKey key{.kind = Kind::kWindow, .index = 3};
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    JoinedRanks ranks = join_ranks(joining, 4, kSizes);
    for (std::size_t rank : {2U, 0U, 3U}) {
      ranks[rank].start_sum(key, values[rank]);
    }
    CHECK(ranks[0].try_take_sum(key) == nullptr);
    ranks[1].start_sum(key, values[1]);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(await_sum(ranks[rank], key) == expected);
      CHECK(ranks[rank].try_take_sum(key) == nullptr);
    }
  }
}

TEST_CASE("sums: a call adds up a bounded part only") {
  constexpr std::size_t kValues = 3 * group::BoardControlPlane::kAddsPerCall / 2;
  JoinedRanks ranks = join_ranks(Joining::kThreads, 2, {.window_values_max = kValues});
  const env::SumKey key{.kind = Kind::kWindow, .index = 0};
  ranks[0].start_sum(key, Values(kValues, 1.0));
  ranks[1].start_sum(key, Values(kValues, 2.0));
  CHECK(ranks[0].try_take_sum(key) == nullptr);
  CHECK(ranks[0].try_take_sum(key) == nullptr);
  const auto sum = ranks[0].try_take_sum(key);
  REQUIRE(sum != nullptr);
  CHECK(*sum == Values(kValues, 3.0));
}

TEST_CASE("sums: many of both kinds are under way at once, more than the board has room for") {
  constexpr std::int64_t kSteps = 30;
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    JoinedRanks ranks = join_ranks(joining, 4, kSizes);
    const env::SumKey window{.kind = Kind::kWindow, .index = 1};
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (std::size_t rank = 0; rank < 4; ++rank) {
        const double value = static_cast<double>(step) + 100.0 * static_cast<double>(rank);
        ranks[rank].start_sum({.kind = Kind::kBalancedness, .index = 10 * step}, Values(2, value));
      }
      if (step == kSteps / 2) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
          ranks[rank].start_sum(window, Values(5, 0.5));
        }
      }
    }
    // Each rank looks by turns, since what does not fit is written as the others take.
    std::array<Values, 4> taken{};
    CHECK(eventually([&] {
      bool all = true;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        const auto next = static_cast<std::int64_t>(taken[rank].size());
        const auto sum =
            ranks[rank].try_take_sum({.kind = Kind::kBalancedness, .index = 10 * next});
        if (sum != nullptr) {
          taken[rank].push_back(sum->at(1));
        }
        all = all && taken[rank].size() == kSteps;
      }
      return all;
    }));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(await_sum(ranks[rank], window) == Values(5, 2.0));
      REQUIRE(taken[rank].size() == kSteps);
      CHECK(taken[rank].front() == 600.0);
      CHECK(taken[rank].back() == 600.0 + 4 * 29);
    }
  }
}

TEST_CASE("sums: rearrangements that some ranks give up before or while they sum do not block") {
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    JoinedRanks ranks = join_ranks(joining, 4, kSizes);
    // Rank 3 aborts each of these before it has summed its own window.
    for (std::int64_t index = 1; index <= 7; ++index) {
      for (std::size_t rank = 0; rank < 3; ++rank) {
        ranks[rank].start_sum({.kind = Kind::kWindow, .index = index}, Values(9, 1.0));
        CHECK(ranks[rank].try_take_sum({.kind = Kind::kWindow, .index = index}) == nullptr);
      }
    }
    const env::SumKey last{.kind = Kind::kWindow, .index = 8};
    for (std::size_t rank = 0; rank < 4; ++rank) {
      ranks[rank].start_sum(last, Values(9, static_cast<double>(rank)));
    }
    std::array<Values, 4> taken{};
    run_beside(4, [&](std::size_t rank) { taken[rank] = await_sum(ranks[rank], last); });
    for (const Values& sum : taken) {
      CHECK(sum == Values(9, 6.0));
    }
  }
}

TEST_CASE("sums: window after window on threads of their own, each rank at its own pace") {
  constexpr std::int64_t kWindows = 40;
  const std::uint64_t seed = run_seed();
  INFO(replay_hint(seed));
  const std::vector<Values> values = draw(4, 1'000, seed);
  const Values expected = sum_of(values);
  for (const Joining joining : kJoinings) {
    CAPTURE(static_cast<int>(joining));
    JoinedRanks ranks = join_ranks(joining, 4, kSizes);
    std::atomic<int> equal = 0;
    run_beside(4, [&](std::size_t rank) {
      for (std::int64_t index = 0; index < kWindows; ++index) {
        const env::SumKey key{.kind = Kind::kWindow, .index = index};
        ranks[rank].start_sum(key, values[rank]);
        if (await_sum(ranks[rank], key) != expected) {
          return;
        }
        ++equal;
      }
    });
    CHECK(equal == 4 * kWindows);
  }
}

}  // namespace
}  // namespace eplb::test
