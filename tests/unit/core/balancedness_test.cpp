// Goal: balancedness is vLLM's ratio of sums over ranks, and imbalance averages loaded layers.
// Method: loads on which the right measure and each wrong one that was seen in the field differ.
#include "eplb/core/balancedness.hpp"

#include <doctest/doctest.h>

namespace eplb {
namespace {

TEST_CASE("balancedness divides the sum of mean rank loads by the sum of the largest") {
  RankLoadMatrix loads(2, 2);
  loads << 100, 50,  // mean 75, max 100
      1, 3;          // mean 2, max 3
  CHECK(balancedness(loads).value == doctest::Approx(77.0 / 103.0));
  CHECK(balancedness(loads).min_layer == doctest::Approx(2.0 / 3.0));
  const RealLoadMatrix real = loads.cast<double>();
  CHECK(balancedness(real).value == doctest::Approx(77.0 / 103.0));
  CHECK(balancedness(real).min_layer == doctest::Approx(2.0 / 3.0));
}

TEST_CASE("layers of unequal load are no imbalance: the mean is over ranks, not over layers") {
  RankLoadMatrix loads(2, 3);
  loads << 100, 100, 100,  //
      10, 10, 10;
  // The historic bug reduced over layers and would say (3 x 55) / (3 x 100) = 0.55.
  CHECK(balancedness(loads).value == 1.0);
  CHECK(balancedness(loads).min_layer == 1.0);
}

TEST_CASE("a step in which one rank has all the load has balancedness 1 / ranks") {
  RankLoadMatrix loads = RankLoadMatrix::Zero(3, 4);
  loads.col(2).setConstant(50);
  CHECK(balancedness(loads).value == 0.25);
  CHECK(balancedness(loads).min_layer == 0.25);
}

TEST_CASE("no load has balancedness 0") {
  CHECK(balancedness(RankLoadMatrix::Zero(2, 4).eval()).value == 0);
  CHECK(balancedness(RankLoadMatrix::Zero(2, 4).eval()).min_layer == 0);
  CHECK(balancedness(RankLoadMatrix(0, 4)).value == 0);
  CHECK(balancedness(RealLoadMatrix(0, 4)).min_layer == 0);
}

TEST_CASE("a layer without load is not the worst one") {
  RankLoadMatrix loads(3, 2);
  loads << 0, 0,  //
      8, 4,       //
      0, 0;
  CHECK(balancedness(loads).value == 0.75);
  CHECK(balancedness(loads).min_layer == 0.75);
}

TEST_CASE("imbalance averages max over mean over the loaded layers") {
  RealLoadMatrix loads(3, 2);
  loads << 100, 50,  // 100 / 75
      0, 0,          //
      1, 3;          // 3 / 2
  CHECK(imbalance(loads).mean == doctest::Approx((4.0 / 3.0 + 1.5) / 2));
  CHECK(imbalance(loads).max_layer == 1.5);
}

TEST_CASE("no load has imbalance 0") {
  CHECK(imbalance(RealLoadMatrix::Zero(2, 4)).mean == 0);
  CHECK(imbalance(RealLoadMatrix::Zero(2, 4)).max_layer == 0);
  CHECK(imbalance(RealLoadMatrix(0, 4)).mean == 0);
}

}  // namespace
}  // namespace eplb
