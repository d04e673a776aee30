// Goal: learnt shares bring ranks together, and stay nearer to the even split the stiffer they are.
// Method: two ranks, where the minimum is a line of arithmetic; duplicates; histories.
#include "eplb/core/learnt_shares.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "eplb/core/rank_load.hpp"
#include "placements.hpp"

namespace eplb {
namespace {

using test::layer_placement;

constexpr Shape kShape{
    .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};

RealLoadMatrix row(std::initializer_list<double> loads) {
  RealLoadMatrix matrix(1, static_cast<Eigen::Index>(loads.size()));
  std::copy(loads.begin(), loads.end(), matrix.data());
  return matrix;
}

/// Share of the first copy of expert 0, of two; ranks hold (0, 1) and (2, 0).
double first_share(const RealLoadMatrix& load, double stiffness) {
  return learn_shares(load.row(0), layer_placement(kShape, {0, 1, 2, 0}), {.stiffness = stiffness})
      .of(SlotId{0});
}

TEST_CASE("without stiffness two ranks meet, as far as the expert between them reaches") {
  // 40 on rank 0 and 60 on rank 1 besides 50 to share: 35 and 15 make 75 each.
  CHECK(first_share(row({50, 40, 60}), 0) == doctest::Approx(0.7).epsilon(1e-4));
  CHECK(first_share(row({10, 40, 60}), 0) == 1.0);
  CHECK(first_share(row({10, 60, 40}), 0) == 0.0);
}

// minimise (40 + t)^2 + (110 - t)^2 + 2 s (t - 25)^2: t = (70 + 50 s) / (2 + 2 s).
TEST_CASE("stiffness pulls to the even split") {
  CHECK(first_share(row({50, 40, 60}), 1) == doctest::Approx(30.0 / 50).epsilon(1e-4));
  CHECK(first_share(row({50, 40, 60}), 4) == doctest::Approx(27.0 / 50).epsilon(1e-4));
  CHECK(first_share(row({50, 40, 60}), 1e9) == doctest::Approx(0.5).epsilon(1e-4));
}

TEST_CASE("an expert without load, or on one rank alone, keeps its even shares") {
  CHECK(first_share(row({0, 40, 60}), 0) == doctest::Approx(0.5).epsilon(1e-4));
  const LayerPlacement placement = layer_placement(kShape, {0, 0, 1, 2});
  CHECK(learn_shares(row({50, 40, 60}).row(0), placement, {.stiffness = 0}) ==
        LayerShares::even(placement));
}

TEST_CASE("copies on one rank share alike what the rank gets") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 2};
  // Expert 0 twice on rank 0 and once on rank 1, beside 30 of expert 1: 60 and 30.
  const LayerShares shares =
      learn_shares(row({60, 30}).row(0), layer_placement(shape, {0, 0, 1, 0}), {.stiffness = 0});
  CHECK(shares.of(SlotId{0}) == doctest::Approx(0.375).epsilon(1e-4));
  CHECK(shares.of(SlotId{1}) == doctest::Approx(0.375).epsilon(1e-4));
  CHECK(shares.of(SlotId{3}) == doctest::Approx(0.25).epsilon(1e-4));
}

TEST_CASE("rank loads by shares are what the shares say") {
  const Placement placed = test::placement(kShape, {{0, 1, 2, 0}});
  const std::vector<LayerShares> shares{
      LayerShares::create(placed.layer(LayerId{0}), {13107, 65535, 65535, 52428}).value()};
  RealLoadMatrix expected(1, 2);
  expected << 10 + 40, 60 + 40;  // A fifth of 50 on rank 0.
  CHECK(rank_loads(placed, row({50, 40, 60}), shares).isApprox(expected));
}

}  // namespace
}  // namespace eplb
