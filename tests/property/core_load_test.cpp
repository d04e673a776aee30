// Goal: splitting load over replicas neither makes nor loses any, and the measures of balance keep
// their bounds. Method: random worlds and loads; sums, scaling and permutations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "eplb/core/balancedness.hpp"
#include "eplb/core/rank_load.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

std::vector<ReplicaShares> all_kinds_of_shares(std::int32_t rows_per_rank,
                                               std::int32_t rank_count) {
  return {ReplicaShares::even(),
          ReplicaShares::of_choice({.choice = ReplicaChoice::kHash,
                                    .rows_per_rank = rows_per_rank,
                                    .rank_count = rank_count}),
          ReplicaShares::of_choice({.choice = ReplicaChoice::kSalted,
                                    .rows_per_rank = rows_per_rank,
                                    .rank_count = rank_count})};
}

TEST_CASE("the shares of any count are not negative and sum to 1") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 60; ++world) {
    const std::int32_t rows_per_rank = worlds.between(1, 500);
    const std::int32_t rank_count = worlds.between(1, 40);
    CAPTURE(rows_per_rank);
    CAPTURE(rank_count);
    for (ReplicaShares& shares : all_kinds_of_shares(rows_per_rank, rank_count)) {
      const std::int32_t replica_count = worlds.between(1, 64);
      CAPTURE(replica_count);
      const auto of_count = shares.of(replica_count);
      REQUIRE(of_count.size() == static_cast<std::size_t>(replica_count));
      REQUIRE(*std::ranges::min_element(of_count) >= 0);
      REQUIRE(std::accumulate(of_count.begin(), of_count.end(), 0.0) ==
              doctest::Approx(1).epsilon(1e-12));
    }
  }
}

TEST_CASE("rank loads sum to the experts' load, layer by layer") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 200; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const Placement placement = worlds.placement(shape, true);
    const RealLoadMatrix load =
        worlds.counts(shape.layer_count, shape.expert_count, 1000).cast<double>();
    for (ReplicaShares& shares : all_kinds_of_shares(worlds.between(1, 100), shape.rank_count)) {
      const RealLoadMatrix loads = rank_loads(placement, load, shares);
      REQUIRE(loads.rows() == shape.layer_count);
      REQUIRE(loads.cols() == shape.rank_count);
      for (Eigen::Index layer = 0; layer < loads.rows(); ++layer) {
        REQUIRE(loads.row(layer).minCoeff() >= 0);
        REQUIRE(loads.row(layer).sum() == doctest::Approx(load.row(layer).sum()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("balancedness lies between 1 / ranks and 1 and does not depend on scale or order") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 200; ++world) {
    CAPTURE(world);
    const std::int32_t layers = worlds.between(1, 5);
    const std::int32_t ranks = worlds.between(1, 12);
    LoadMatrix loads = worlds.counts(layers, ranks, 50);
    loads(0, 0) += 1;
    const Balancedness measured = balancedness(loads);
    REQUIRE(measured.value <= 1);
    REQUIRE(measured.value >= doctest::Approx(1.0 / ranks));
    REQUIRE(measured.min_layer <= measured.value + 1e-12);
    REQUIRE(measured.min_layer >= doctest::Approx(1.0 / ranks));

    const LoadMatrix turned = loads.rowwise().reverse().colwise().reverse() * 3;
    REQUIRE(balancedness(turned).value == doctest::Approx(measured.value).epsilon(1e-12));
    REQUIRE(balancedness(turned).min_layer == doctest::Approx(measured.min_layer).epsilon(1e-12));
  }
}

TEST_CASE("the worst layer's imbalance is one over the least balanced layer's balancedness") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 200; ++world) {
    CAPTURE(world);
    const RealLoadMatrix loads =
        (worlds.counts(worlds.between(1, 5), worlds.between(1, 12), 50).array() + 1)
            .cast<double>()
            .matrix();
    const Imbalance measured = imbalance(loads);
    REQUIRE(measured.max_layer ==
            doctest::Approx(1 / balancedness(loads).min_layer).epsilon(1e-12));
    REQUIRE(measured.mean >= doctest::Approx(1).epsilon(1e-12));
    REQUIRE(measured.mean <= doctest::Approx(measured.max_layer).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace eplb
