// Goal: an expert's load splits over its replicas as the replica choice does it. Method: placements
// small enough to add up by hand, and the reference's replica sequences.
#include "eplb/core/rank_load.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "placements.hpp"

namespace eplb {
namespace {

using test::placement;
using Shares = std::vector<double>;

constexpr Shape kShape{.layer_count = 2,
                       .expert_count = 3,
                       .redundant_slot_count = 1,
                       .rank_count = 2,
                       .expert_group_count = 1};

Shares shares_of(ReplicaShares shares, std::int32_t replica_count) {
  const auto of_count = shares.of(replica_count);
  return {of_count.begin(), of_count.end()};
}

ReplicaShares hashed(std::int32_t rows_per_rank, std::int32_t rank_count = 1) {
  return ReplicaShares::of_choice(
      {.choice = ReplicaChoice::kHash, .rows_per_rank = rows_per_rank, .rank_count = rank_count});
}

ReplicaShares salted(std::int32_t rows_per_rank, std::int32_t rank_count) {
  return ReplicaShares::of_choice(
      {.choice = ReplicaChoice::kSalted, .rows_per_rank = rows_per_rank, .rank_count = rank_count});
}

TEST_CASE("an even split gives each rank its replicas' equal shares") {
  RealLoadMatrix load(2, 3);
  load << 6, 2, 4,  //
      8, 10, 1;
  RealLoadMatrix expected(2, 2);
  expected << 3 + 2, 4 + 3,  // rank 0 holds 0 and 1, rank 1 holds 2 and 0
      5 + 1, 8 + 5;          // rank 0 holds 1 and 2, rank 1 holds 0 and 1
  ReplicaShares even = ReplicaShares::even();
  CHECK(rank_loads(placement(kShape, {{0, 1, 2, 0}, {1, 2, 0, 1}}), load, even) == expected);
}

TEST_CASE("two copies on one rank bring that rank both shares") {
  RealLoadMatrix load(2, 3);
  load << 6, 2, 4,  //
      6, 2, 4;
  RealLoadMatrix expected(2, 2);
  expected << 6, 6,  //
      6, 6;
  ReplicaShares even = ReplicaShares::even();
  CHECK(rank_loads(placement(kShape, {{0, 0, 1, 2}, {2, 1, 0, 0}}), load, even) == expected);
}

TEST_CASE("an empty slot carries no load") {
  RealLoadMatrix load(2, 3);
  load << 6, 2, 4,  //
      6, 2, 4;
  RealLoadMatrix expected(2, 2);
  expected << 2, 10,  //
      8, 4;
  ReplicaShares even = ReplicaShares::even();
  CHECK(rank_loads(placement(kShape, {{-1, 1, 2, 0}, {0, 1, 2, -1}}), load, even) == expected);
}

TEST_CASE("hash shares are the counts of the published sequences") {
  // n = 3, rows 0..7: replicas 0 0 2 2 1 0 0 2.
  CHECK(shares_of(hashed(8), 3) == Shares{4.0 / 8, 1.0 / 8, 3.0 / 8});
  // n = 5, rows 0..15: 0 4 2 1 4 2 1 4 3 1 4 3 1 4 3 1.
  CHECK(shares_of(hashed(16), 5) == Shares{1.0 / 16, 5.0 / 16, 2.0 / 16, 3.0 / 16, 5.0 / 16});
  CHECK(shares_of(hashed(7), 2) == Shares{4.0 / 7, 3.0 / 7});
  CHECK(shares_of(hashed(7), 1) == Shares{1.0});
}

TEST_CASE("every rank hashes alike, so more ranks do not even the shares out") {
  CHECK(shares_of(hashed(8, 32), 3) == Shares{4.0 / 8, 1.0 / 8, 3.0 / 8});
}

TEST_CASE("with one row a rank the hash sends everything to replica 0") {
  CHECK(shares_of(hashed(1, 32), 4) == Shares{1, 0, 0, 0});
  CHECK(shares_of(salted(1, 32), 4) == Shares{0.25, 0.25, 0.25, 0.25});

  const RealLoadMatrix load = RealLoadMatrix::Constant(2, 3, 10);
  ReplicaShares shares = hashed(1, 32);
  RealLoadMatrix expected(2, 2);
  expected << 20, 10,  // replica 0 of expert 0 is slot 0, on rank 0
      20, 10;          // replica 0 of expert 1 is slot 0, on rank 0
  CHECK(rank_loads(placement(kShape, {{0, 1, 2, 0}, {1, 2, 0, 1}}), load, shares) == expected);
}

TEST_CASE("replica k is the expert's k-th slot in ascending order") {
  RealLoadMatrix load = RealLoadMatrix::Zero(1, 1);
  load(0, 0) = 8;
  const Shape shape{
      .layer_count = 1, .expert_count = 1, .redundant_slot_count = 2, .rank_count = 3};
  ReplicaShares shares = hashed(8);
  RealLoadMatrix expected(1, 3);
  expected << 4, 1, 3;
  CHECK(rank_loads(placement(shape, {{0, 0, 0}}), load, shares) == expected);
}

TEST_CASE("shares stay where they are while shares of other counts are asked for") {
  ReplicaShares shares = hashed(8);
  const auto of_three = shares.of(3);
  for (std::int32_t count = 1; count <= 200; ++count) {
    REQUIRE(shares.of(count).size() == static_cast<std::size_t>(count));
  }
  CHECK(of_three.data() == shares.of(3).data());
  CHECK(of_three[2] == 3.0 / 8);
}

TEST_CASE("a placement without layers has no rank loads") {
  const Shape shape{
      .layer_count = 0, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  ReplicaShares even = ReplicaShares::even();
  const RealLoadMatrix loads = rank_loads(Placement::initial(shape), RealLoadMatrix(0, 3), even);
  CHECK(loads.rows() == 0);
  CHECK(loads.cols() == 2);
}

}  // namespace
}  // namespace eplb
