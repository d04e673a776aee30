// Goal: the salted choice spreads rows over replicas where the published hash does not, and is
// nowhere worse. Method: exact counts over rows, ranks, strides and salts, beside the published
// ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "eplb/core/replica_choice.hpp"

namespace eplb {
namespace {

constexpr std::array<std::uint32_t, 12> kReplicaCounts{2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 32, 33};
constexpr std::array<std::uint32_t, 6> kRowCounts{8, 72, 128, 432, 768, 4096};

struct Salt {
  std::uint32_t layer;
  std::uint32_t expert;
};

constexpr std::array<Salt, 10> kSalts{{{0, 0},
                                       {0, 1},
                                       {0, 383},
                                       {3, 5},
                                       {7, 100},
                                       {17, 255},
                                       {39, 0},
                                       {39, 383},
                                       {57, 31},
                                       {91, 895}}};

/// Which rows of which ranks pick an expert: every `stride`-th row.
struct Rows {
  std::uint32_t rows_per_rank;
  std::uint32_t rank_count;
  std::uint32_t stride = 1;
};

std::vector<std::uint32_t> tokens_per_replica(ReplicaChoice choice, const Rows& rows, Salt salt,
                                              std::uint32_t replica_count) {
  std::vector<std::uint32_t> tokens(replica_count, 0);
  for (std::uint32_t rank = 0; rank < rows.rank_count; ++rank) {
    for (std::uint32_t row = 0; row < rows.rows_per_rank; row += rows.stride) {
      ++tokens[choose_replica(
          choice, {.row = row, .rank = rank, .layer = salt.layer, .expert = salt.expert},
          replica_count)];
    }
  }
  return tokens;
}

/// max / mean over replicas; 1 is even.
double skew(const std::vector<std::uint32_t>& tokens) {
  const double mean =
      std::accumulate(tokens.begin(), tokens.end(), 0.0) / static_cast<double>(tokens.size());
  return *std::ranges::max_element(tokens) / mean;
}

double hashed_skew(const Rows& rows, std::uint32_t replica_count) {
  return skew(tokens_per_replica(ReplicaChoice::kHash, rows, {0, 0}, replica_count));
}

/// The largest skew over all salts.
double salted_skew(const Rows& rows, std::uint32_t replica_count) {
  double worst = 0;
  for (const Salt& salt : kSalts) {
    worst = std::max(worst,
                     skew(tokens_per_replica(ReplicaChoice::kSalted, rows, salt, replica_count)));
  }
  return worst;
}

std::uint32_t spread(const std::vector<std::uint32_t>& tokens) {
  const auto [least, most] = std::ranges::minmax_element(tokens);
  return *most - *least;
}

TEST_CASE("the salted choice is these very replicas, on every machine") {
  const auto chosen = [](std::uint32_t rank, Salt salt, std::uint32_t replica_count) {
    std::vector<std::uint32_t> replicas;
    for (std::uint32_t row = 0; row < 12; ++row) {
      replicas.push_back(
          salted_replica({.row = row, .rank = rank, .layer = salt.layer, .expert = salt.expert},
                         ReplicaCount::of(replica_count)));
    }
    return replicas;
  };
  using Replicas = std::vector<std::uint32_t>;
  CHECK(chosen(0, {0, 0}, 2) == Replicas{0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1});
  CHECK(chosen(0, {3, 5}, 3) == Replicas{1, 2, 0, 0, 1, 2, 2, 0, 1, 1, 2, 0});
  CHECK(chosen(31, {39, 383}, 4) == Replicas{3, 0, 1, 2, 1, 2, 3, 0, 0, 1, 2, 3});
  CHECK(chosen(7, {57, 31}, 33) == Replicas{29, 30, 31, 32, 0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("on one rank the salted choice is as even as counts allow, for any number of rows") {
  for (const std::uint32_t replica_count : kReplicaCounts) {
    for (const Salt& salt : kSalts) {
      for (std::uint32_t rows = 1; rows <= 200; ++rows) {
        REQUIRE(spread(tokens_per_replica(ReplicaChoice::kSalted,
                                          {.rows_per_rank = rows, .rank_count = 1}, salt,
                                          replica_count)) <= 1);
      }
    }
  }
}

TEST_CASE("with one row a rank the salted choice is even over ranks, the published one is not") {
  for (const std::uint32_t replica_count : kReplicaCounts) {
    CAPTURE(replica_count);
    for (const std::uint32_t ranks : {2U, 8U, 16U, 32U, 64U, 72U}) {
      for (const Salt& salt : kSalts) {
        REQUIRE(spread(tokens_per_replica(ReplicaChoice::kSalted,
                                          {.rows_per_rank = 1, .rank_count = ranks}, salt,
                                          replica_count)) <= 1);
      }
    }
    CHECK(hashed_skew({.rows_per_rank = 1, .rank_count = 32}, replica_count) == replica_count);
  }
}

TEST_CASE("over 32 ranks the salted choice is never worse than the published one nor above 1.10") {
  for (const std::uint32_t rows : kRowCounts) {
    for (const std::uint32_t replica_count : kReplicaCounts) {
      const Rows all{.rows_per_rank = rows, .rank_count = 32};
      if (rows * 32 / replica_count < 64) {
        continue;
      }
      CAPTURE(rows);
      CAPTURE(replica_count);
      const double salted = salted_skew(all, replica_count);
      CHECK(salted <= hashed_skew(all, replica_count));
      CHECK(salted <= 1.01);
    }
  }
}

TEST_CASE("on one rank the salted choice is never worse than the published one") {
  for (const std::uint32_t rows : kRowCounts) {
    for (const std::uint32_t replica_count : kReplicaCounts) {
      CAPTURE(rows);
      CAPTURE(replica_count);
      const Rows all{.rows_per_rank = rows, .rank_count = 1};
      CHECK(salted_skew(all, replica_count) <= hashed_skew(all, replica_count));
    }
  }
}

TEST_CASE("rows a fixed stride apart are spread over 32 ranks, as drafts of a request are") {
  for (std::uint32_t stride = 2; stride <= 8; ++stride) {
    for (const std::uint32_t rows : {72U, 432U, 768U}) {
      for (const std::uint32_t replica_count : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 16U}) {
        CAPTURE(stride);
        CAPTURE(rows);
        CAPTURE(replica_count);
        const Rows strided{.rows_per_rank = rows, .rank_count = 32, .stride = stride};
        CHECK(salted_skew(strided, replica_count) <= 1.10);
      }
    }
  }
  // Every second row of the published choice meets one replica of two.
  CHECK(hashed_skew({.rows_per_rank = 432, .rank_count = 32, .stride = 6}, 2) == 2);
  CHECK(hashed_skew({.rows_per_rank = 432, .rank_count = 32, .stride = 4}, 4) == 4);
}

TEST_CASE("experts and layers start at replicas of their own") {
  const std::uint32_t replica_count = 4;
  std::vector<std::uint32_t> starts(replica_count, 0);
  for (std::uint32_t layer = 0; layer < 40; ++layer) {
    for (std::uint32_t expert = 0; expert < 384; ++expert) {
      ++starts[salted_replica({.row = 0, .rank = 0, .layer = layer, .expert = expert},
                              ReplicaCount::of(replica_count))];
    }
  }
  CHECK(skew(starts) < 1.05);
}

}  // namespace
}  // namespace eplb
