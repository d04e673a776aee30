// Goal: replica choice equals the published hash bit for bit. Method: the sequences and the
// max/mean table of the reference (eplb-semantics 2.1).
#include "eplb/core/replica_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace eplb {
namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence published_sequence(std::uint32_t replica_count) {
  Sequence chosen;
  for (std::uint32_t row = 0; row < 16; ++row) {
    chosen.push_back(hashed_replica(row, ReplicaCount::of(replica_count)));
  }
  return chosen;
}

/// max / mean over replicas when all rows of a rank pick one expert.
double published_skew(std::uint32_t rows, std::uint32_t replicas) {
  std::vector<std::uint32_t> tokens(replicas, 0);
  for (std::uint32_t row = 0; row < rows; ++row) {
    ++tokens[hashed_replica(row, ReplicaCount::of(replicas))];
  }
  const double mean = std::accumulate(tokens.begin(), tokens.end(), 0.0) / replicas;
  return *std::ranges::max_element(tokens) / mean;
}

TEST_CASE("the published hash gives the published sequences") {
  CHECK(published_sequence(3) == Sequence{0, 0, 2, 2, 1, 0, 0, 2, 2, 1, 0, 0, 2, 1, 1, 0});
  CHECK(published_sequence(5) == Sequence{0, 4, 2, 1, 4, 2, 1, 4, 3, 1, 4, 3, 1, 4, 3, 1});
  CHECK(published_sequence(6) == Sequence{0, 3, 2, 5, 4, 3, 0, 5, 2, 1, 0, 3, 2, 1, 4, 3});
  CHECK(published_sequence(7) == Sequence{0, 6, 1, 0, 2, 4, 3, 5, 4, 6, 1, 0, 2, 4, 3, 5});
  CHECK(published_sequence(16) == Sequence{0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12, 5, 14, 7});
}

TEST_CASE("the published hash is round robin for 2, 4 and 8 replicas") {
  for (const std::uint32_t replicas : {2U, 4U, 8U}) {
    for (std::uint32_t row = 0; row < 5000; ++row) {
      REQUIRE(hashed_replica(row, ReplicaCount::of(replicas)) == row % replicas);
    }
  }
}

TEST_CASE("the published hash has the published skew") {
  constexpr std::array<std::uint32_t, 12> replica_counts{2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 32, 33};

  struct PublishedRow {
    std::uint32_t rows;
    std::array<double, 12> skews;  // By the counts above.
  };

  const std::array<PublishedRow, 6> published{{
      {8, {1, 1.5, 1, 1.875, 1.5, 1.75, 1, 3, 2, 8.5, 4, 4.125}},
      {72, {1, 1.083, 1, 1.042, 1.083, 1.167, 1, 1.167, 1.111, 1.181, 1.333, 2.292}},
      {128, {1, 1.055, 1, 1.055, 1.078, 1.094, 1, 1.125, 1, 1.195, 1, 1.547}},
      {432, {1, 1.007, 1, 1.019, 1.014, 1.037, 1, 1.028, 1, 1.062, 1.037, 1.222}},
      {768, {1, 1.012, 1, 1.016, 1.023, 1.012, 1, 1.031, 1, 1.107, 1, 1.117}},
      {4096, {1, 1.002, 1, 1.002, 1.002, 1.005, 1, 1.002, 1, 1.021, 1, 1.015}},
  }};
  for (const PublishedRow& row : published) {
    for (std::size_t column = 0; column < replica_counts.size(); ++column) {
      CAPTURE(row.rows);
      CAPTURE(replica_counts[column]);
      const double measured = published_skew(row.rows, replica_counts[column]);
      CHECK(std::abs(measured - row.skews[column]) <= 0.0005);
    }
  }
}

TEST_CASE("the published hash multiplies in 32 bits, also for rows beyond them") {
  // 2^31 x 2654435769 = 2^31 mod 2^32, since the multiplier is odd.
  CHECK(hashed_replica(0x80000000U, ReplicaCount::of(3)) == 0x80000000U % 3);
  // Row 2^32 - 1 is -1, so it hashes to 2^32 - 2654435769.
  CHECK(hashed_replica(0xFFFFFFFFU, ReplicaCount::of(1000)) == 1640531527U % 1000);
}

TEST_CASE("a division by a replica count is the machine's own") {
  for (const std::uint32_t count : {1U, 2U, 3U, 5U, 7U, 8U, 33U, 1023U, 65535U, 0x80000001U}) {
    const ReplicaCount replicas = ReplicaCount::of(count);
    for (const std::uint32_t around : {0U, count, 2 * count, 1U << 30U, 1U << 31U, 0U - count}) {
      for (std::uint32_t step = 0; step < 5; ++step) {
        const std::uint32_t dividend = around + step - 2U;  // Wraps around 0 too.
        CAPTURE(count);
        CAPTURE(dividend);
        REQUIRE(replicas.divide(dividend).quotient == dividend / count);
        REQUIRE(replicas.divide(dividend).remainder == dividend % count);
      }
    }
  }
}

TEST_CASE("one replica, or none, is replica 0") {
  CHECK(choose_replica(ReplicaChoice::kHash, {.row = 7, .rank = 0, .layer = 0, .expert = 0}, 1) ==
        0);
  CHECK(choose_replica(ReplicaChoice::kSalted, {.row = 7, .rank = 0, .layer = 0, .expert = 0}, 0) ==
        0);
}

}  // namespace
}  // namespace eplb
