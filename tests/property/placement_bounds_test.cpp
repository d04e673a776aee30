// Goal: bounds are ordered as they claim, and the free split equals brute force, for every policy.
// Method: seeded random worlds; brute force over all sets of experts where there are at most ten.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "eplb/placement/bounds.hpp"
#include "placement_oracle.hpp"
#include "placement_worlds.hpp"
#include "plan.hpp"
#include "seed.hpp"

namespace eplb::test {
namespace {

constexpr std::uint64_t kWorldCount = 60;
constexpr std::int32_t kBruteForceExpertsMax = 10;

TEST_CASE("bound is at most bound_split, and that at most what an even split achieves") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    PlacementWorld world(seed);
    const double scale = std::pow(10.0, world.between(-6, 9));
    const RealLoadMatrix load = world.load * scale;
    for (const std::string_view policy : placement::policy_names()) {
      CAPTURE(policy);
      const Placement placed =
          plan({.policy = policy, .shape = world.shape, .node_count = world.node_count}, load);
      const std::vector<double> achieved = largest_rank_loads(placed, load);
      double achieved_sum = 0;
      for (std::int32_t layer = 0; layer < world.shape.layer_count; ++layer) {
        const double least = placement::layer_bound(load.row(layer), world.shape)->value();
        const double split =
            placement::layer_bound_split(load.row(layer), placed.layer(LayerId{layer})).value();
        const double even = achieved[static_cast<std::size_t>(layer)];
        REQUIRE(least <= split);
        REQUIRE(split <= even * (1 + 1e-12));
        achieved_sum += even;
      }
      const double bound = placement::bound(load, world.shape).value();
      const double bound_split = placement::bound_split(load, placed).value();
      REQUIRE(bound <= bound_split);
      REQUIRE(bound_split * world.shape.layer_count <= achieved_sum * (1 + 1e-12));
    }
  }
}

TEST_CASE("the free split equals the largest ratio over all sets of experts") {
  std::int32_t compared = 0;
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    PlacementWorld world(seed);
    if (world.shape.expert_count > kBruteForceExpertsMax) {
      continue;
    }
    const double scale = std::pow(10.0, world.between(-6, 9)) / 3;
    const RealLoadMatrix load = world.load * scale;
    const Placement placed = plan({.policy = "default", .shape = world.shape}, world.draw_load());
    for (std::int32_t layer = 0; layer < world.shape.layer_count; ++layer) {
      const LayerPlacement& layer_placement = placed.layer(LayerId{layer});
      const double best =
          best_split(std::span(load.row(layer).data(), static_cast<std::size_t>(load.cols())),
                     layer_placement);
      const double split = placement::layer_bound_split(load.row(layer), layer_placement).value();
      REQUIRE(std::abs(split - best) <= 1e-12 * best);
      ++compared;
    }
  }
  CHECK(compared > 20);
}

}  // namespace
}  // namespace eplb::test
