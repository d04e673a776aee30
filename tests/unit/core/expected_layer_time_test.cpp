// Goal: a layer's expected time is that of its busiest rank, with the noise that counts have and
// the doubt that the load is in. Method: costs of one figure, so that a time is a count, against
// what is known of the largest of many normal numbers and of Poisson counts.
#include "expected_layer_time.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "placements.hpp"

namespace eplb {
namespace {

constexpr ExpertLayerCost kTokens{.ns_per_assignment = 1};

double time_of(const ExpertLayerCost& cost, const LayerPlacement& placement,
               const std::vector<double>& tokens,
               const std::vector<Eigen::RowVectorXd>& doubts = {}) {
  return ExpectedLayerTime(cost).ns(placement,
                                    {.layer = LayerId{3}, .by_expert = tokens, .doubts = doubts});
}

TEST_CASE("the busiest of ranks that expect the same has more, by what noise makes of it") {
  const Shape shape{.layer_count = 1, .expert_count = 32, .rank_count = 32};
  const double time =
      time_of(kTokens, LayerPlacement::initial(shape), std::vector<double>(32, 1e4));
  // The largest of 32 standard normal numbers is 2.07 in the mean, with a deviation of 0.4, of
  // which the mean over 16 forwards keeps a quarter.
  CHECK(time == doctest::Approx(1e4 + 2.07 * 100).epsilon(0.0035));
}

TEST_CASE("where one rank expects far more than all others it is the busiest, noise or not") {
  const Shape shape{.layer_count = 1, .expert_count = 4, .rank_count = 4};
  const double time = time_of(kTokens, LayerPlacement::initial(shape), {1e6, 1e4, 1e4, 1e4});
  CHECK(time == doctest::Approx(1e6).epsilon(0.001));
}

TEST_CASE("few tokens touch as many experts as a Poisson process does") {
  const Shape shape{.layer_count = 1, .expert_count = 1024, .rank_count = 1};
  const ExpertLayerCost weights{.ns_per_touched_expert = 1};
  for (const double expected : {0.05, 0.5, 2.0}) {
    CAPTURE(expected);
    const double share = 1 - std::exp(-expected);
    const double deviation = std::sqrt(1024 * share * (1 - share) / 16);
    const double time =
        time_of(weights, LayerPlacement::initial(shape), std::vector<double>(1024, expected));
    CHECK(std::abs(time - 1024 * share) < 4 * deviation);
  }
}

TEST_CASE("counts keep their mean where they change from exact to normal") {
  const Shape shape{.layer_count = 1, .expert_count = 1024, .rank_count = 1};
  for (const double expected : {15.9, 16.1}) {
    CAPTURE(expected);
    const double time =
        time_of(kTokens, LayerPlacement::initial(shape), std::vector<double>(1024, expected));
    CHECK(time == doctest::Approx(1024 * expected).epsilon(0.01));
  }
}

TEST_CASE("replicas share a load, and it does not matter where on a rank they are") {
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  const std::vector<double> tokens{6e6, 3e6, 3e6};
  const LayerPlacement split = test::layer_placement(shape, {0, 1, 0, 2});
  CHECK(time_of(kTokens, split, tokens) == doctest::Approx(6e6).epsilon(0.001));
  CHECK(time_of(kTokens, test::layer_placement(shape, {1, 0, 2, 0}), tokens) ==
        time_of(kTokens, split, tokens));
}

TEST_CASE("a doubt makes half of the forwards bring more of it and half of them less") {
  const Shape shape{.layer_count = 1, .expert_count = 3, .rank_count = 3};
  const LayerPlacement placement = LayerPlacement::initial(shape);
  const std::vector<double> even(3, 1e8);
  // The first has 1.2 or the second does; a skewed layer ends with the third either way.
  const Eigen::RowVectorXd doubt = Eigen::RowVector3d(0.2e8, -0.2e8, 0);
  CHECK(time_of(kTokens, placement, even, {doubt}) == doctest::Approx(1.2e8).epsilon(0.001));
  CHECK(time_of(kTokens, placement, {1e8, 1e8, 3e8}, {doubt}) ==
        doctest::Approx(3e8).epsilon(0.001));
  // Two doubts take turns; that of the busiest adds and takes away alike.
  const Eigen::RowVectorXd other = Eigen::RowVector3d(0, 0.4e8, 0);
  CHECK(time_of(kTokens, placement, even, {doubt, other}) ==
        doctest::Approx((1.2e8 + (1.4e8 + 1e8) / 2) / 2).epsilon(0.001));
}

TEST_CASE("no expert brings less than nothing") {
  const Shape shape{.layer_count = 1, .expert_count = 2, .rank_count = 2};
  const Eigen::RowVectorXd doubt = Eigen::RowVector2d(3e8, 0);
  CHECK(time_of(kTokens, LayerPlacement::initial(shape), {1e8, 1e6}, {doubt}) ==
        doctest::Approx((4e8 + 1e6) / 2).epsilon(0.001));
}

TEST_CASE("the kernel's blocks follow from the tokens a slot") {
  const Shape shape{.layer_count = 1, .expert_count = 2, .rank_count = 2};
  const ExpertLayerCost arithmetic{.ns_per_padded_row = 1};
  // 1000 rows a slot take blocks of 192: six of them, whatever the noise.
  CHECK(time_of(arithmetic, LayerPlacement::initial(shape), {1000, 1000}) == 6 * 192);
}

}  // namespace
}  // namespace eplb
