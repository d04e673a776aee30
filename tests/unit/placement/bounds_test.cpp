// Goal: the bounds have the values that they should, for plain, tiny and huge loads, and refuse
// what is no load. Method: layers small enough to be worked out by hand. Brute force over all sets
// of experts and all allocations is in tests/property.
#include "eplb/placement/bounds.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "plan.hpp"

namespace eplb::placement {
namespace {

using Numbers = std::vector<std::int32_t>;

LayerPlacement layer_of(const Shape& shape, const Numbers& occupants) {
  return LayerPlacement::create(shape, test::occupants_of(occupants)).value();
}

double split(const Shape& shape, const Numbers& occupants, const std::vector<double>& load) {
  return layer_bound_split(test::load_of({load}).row(0), layer_of(shape, occupants)).value();
}

constexpr Shape kTwoRanks{
    .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};

TEST_CASE("a layer's bound is the mean rank load where replicas allow it") {
  const LayerBound bound =
      layer_bound(test::load_of({{12, 4, 4, 4}}).row(0),
                  {.layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2})
          .value();
  CHECK(bound.mean_rank_load == 12);
  CHECK(bound.least_largest_replica == 4);
  CHECK(bound.value() == 12);
}

TEST_CASE("a layer's bound is the largest replica where one expert has too few copies") {
  const LayerBound bound =
      layer_bound(test::load_of({{14, 1, 1}}).row(0),
                  {.layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 4})
          .value();
  CHECK(bound.mean_rank_load == 4);
  CHECK(bound.least_largest_replica == 7);
  CHECK(bound.value() == 7);
}

TEST_CASE("bound is the mean of the layers' bounds") {
  const Shape shape{
      .layer_count = 2, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 4};
  CHECK(bound(test::load_of({{14, 1, 1}, {4, 4, 4}}), shape).value() == (7.0 + 4.0) / 2);
  CHECK(
      bound(RealLoadMatrix(0, 3), {.layer_count = 0, .expert_count = 3, .rank_count = 3}).value() ==
      0);
}

TEST_CASE("a free split reaches the mean where replicas connect the ranks") {
  // Expert 0 gives 4 to rank 0 and 2 to rank 1; an even split would leave 5 and 7.
  CHECK(split(kTwoRanks, {0, 1, 0, 2}, {6, 2, 4}) == 6);
}

TEST_CASE("a free split is held up by the set of experts with most load on its ranks") {
  CHECK(split(kTwoRanks, {0, 1, 0, 2}, {2, 8, 2}) == 8);
  // Experts 0 and 1 live on ranks 0 and 1 only: 20 tokens on two of three ranks.
  const Shape three{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 3};
  CHECK(split(three, {0, 1, 1, 0, 2, 3}, {11, 9, 1, 2}) == 10);
}

TEST_CASE("copies of an expert on one rank count once") {
  CHECK(split(kTwoRanks, {0, 0, 1, 2}, {10, 1, 1}) == 10);
}

TEST_CASE("empty slots carry nothing") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 2};
  CHECK(split(shape, {0, 1, -1, -1}, {3, 4}) == 7);
  CHECK(split(shape, {-1, 1, 0, -1}, {3, 4}) == 4);
}

TEST_CASE("a free split is exact for loads of any size") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 3};
  for (const double scale : {1e-300, 1e-9, 0.1, 1.0, 1e15, 1e300}) {
    CAPTURE(scale);
    CHECK(split(shape, {0, 1, 1, 0, 2, 3}, {11 * scale, 9 * scale, 1 * scale, 2 * scale}) ==
          doctest::Approx(10 * scale).epsilon(1e-12));
  }
}

TEST_CASE("a token more in 10^15 is seen by a free split") {
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 3, .rank_count = 3};
  // Expert 1 fills ranks 1 and 2 by itself; expert 0 has rank 0 and one token too many.
  CHECK(split(shape, {0, 0, 1, 2, 1, 2}, {1e15 + 1, 2e15 - 2, 1}) == 1e15 + 1);
}

TEST_CASE("no load has bounds of zero") {
  CHECK(layer_bound(test::load_of({{0, 0, 0}}).row(0), kTwoRanks).value().value() == 0);
  CHECK(split(kTwoRanks, {0, 1, 0, 2}, {0, 0, 0}) == 0);
}

TEST_CASE("a negative zero is no load") {
  const LayerBound bound =
      layer_bound(test::load_of({{-0.0, 14, 2}}).row(0),
                  {.layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 4})
          .value();
  CHECK(bound.least_largest_replica == 7);
}

TEST_CASE("bound_split is the mean over layers") {
  Shape shape = kTwoRanks;
  shape.layer_count = 2;
  const Placement placement =
      Placement::create(shape, {layer_of(shape, {0, 1, 0, 2}), layer_of(shape, {0, 0, 1, 2})})
          .value();
  CHECK(bound_split(test::load_of({{6, 2, 4}, {10, 1, 1}}), placement).value() == 8);
}

TEST_CASE("a load of another size, or that is no load, has no bound") {
  const LayerPlacement layer = layer_of(kTwoRanks, {0, 1, 0, 2});
  const auto refused = [&](const RealLoadMatrix& load) {
    const auto plain = layer_bound(load.row(0), kTwoRanks);
    const auto split_free = layer_bound_split(load.row(0), layer);
    return !plain.has_value() && plain.error().code == ErrorCode::kInvalidArgument &&
           !split_free.has_value() && split_free.error().code == ErrorCode::kInvalidArgument;
  };
  CHECK(refused(test::load_of({{1, 2}})));
  CHECK(refused(test::load_of({{1, 2, -1}})));
  CHECK(refused(test::load_of({{1, 2, std::numeric_limits<double>::quiet_NaN()}})));
  CHECK(refused(test::load_of({{1, 2, std::numeric_limits<double>::infinity()}})));
  CHECK(refused(test::load_of({{1.5e308, 1.5e308, 0}})));
  CHECK(!bound(RealLoadMatrix::Ones(2, 3), kTwoRanks).has_value());
  CHECK(!bound_split(RealLoadMatrix::Ones(2, 3), Placement::initial(kTwoRanks)).has_value());
  Shape uneven = kTwoRanks;
  uneven.redundant_slot_count = 2;
  CHECK(!layer_bound(test::load_of({{1, 2, 3}}).row(0), uneven).has_value());
}

}  // namespace
}  // namespace eplb::placement
