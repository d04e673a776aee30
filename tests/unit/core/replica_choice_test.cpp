// Goal: replica choice equals the published hash bit for bit, and the salted choice mends what the
// published one is weak at. Method: the sequences and the max/mean table of the reference.
#include "eplb/core/replica_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace eplb {
namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence published_sequence(std::uint32_t replica_count) {
  Sequence chosen;
  for (std::uint32_t row = 0; row < 16; ++row) {
    chosen.push_back(hashed_replica(row, replica_count));
  }
  return chosen;
}

/// max / mean over replicas when all rows of all ranks pick one expert.
double skew(ReplicaChoice choice, std::uint32_t rows, std::uint32_t ranks, std::uint32_t replicas,
            std::uint32_t row_step = 1) {
  std::vector<std::uint32_t> tokens(replicas, 0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t row = 0; row < rows; row += row_step) {
      ++tokens[choose_replica(choice, {.row = row, .rank = rank, .layer = 3, .expert = 5},
                              replicas)];
    }
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
      REQUIRE(hashed_replica(row, replicas) == row % replicas);
    }
  }
}

TEST_CASE("the published hash has the published skew") {
  CHECK(skew(ReplicaChoice::kHash, 8, 1, 3) == doctest::Approx(1.5));
  CHECK(skew(ReplicaChoice::kHash, 8, 1, 17) == doctest::Approx(8.5));
  CHECK(skew(ReplicaChoice::kHash, 72, 1, 32) == doctest::Approx(1.333).epsilon(0.001));
  CHECK(skew(ReplicaChoice::kHash, 72, 1, 33) == doctest::Approx(2.292).epsilon(0.001));
  CHECK(skew(ReplicaChoice::kHash, 432, 1, 33) == doctest::Approx(1.222).epsilon(0.001));
}

TEST_CASE("one replica, or none, is replica 0") {
  CHECK(choose_replica(ReplicaChoice::kHash, {.row = 7, .rank = 0, .layer = 0, .expert = 0}, 1) ==
        0);
  CHECK(choose_replica(ReplicaChoice::kSalted, {.row = 7, .rank = 0, .layer = 0, .expert = 0}, 0) ==
        0);
}

TEST_CASE("with one row a rank the salted choice uses all replicas, the published one only one") {
  for (const std::uint32_t replicas : {2U, 3U, 4U, 8U}) {
    CAPTURE(replicas);
    CHECK(skew(ReplicaChoice::kHash, 1, 32, replicas) == doctest::Approx(replicas));
    CHECK(skew(ReplicaChoice::kSalted, 1, 32, replicas) < 1.3);
  }
}

TEST_CASE("the first row of each request of six is spread by the salted choice") {
  for (const std::uint32_t replicas : {2U, 3U, 4U, 6U, 8U}) {
    CAPTURE(replicas);
    CHECK(skew(ReplicaChoice::kSalted, 432, 16, replicas, 6) < 1.05);
  }
  CHECK(skew(ReplicaChoice::kHash, 432, 16, 2, 6) == doctest::Approx(2.0));
}

TEST_CASE("over a group of 32 ranks the salted choice is even within two percent") {
  for (std::uint32_t replicas = 2; replicas <= 33; ++replicas) {
    CAPTURE(replicas);
    CHECK(skew(ReplicaChoice::kSalted, 432, 32, replicas) < 1.02);
  }
}

}  // namespace
}  // namespace eplb
