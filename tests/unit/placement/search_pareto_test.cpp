// Goal: Pareto layers are what their definition says. Method: a case by hand; then seeded random
// costs, with ties, against the definition written down anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eplb/placement/search/pareto.hpp"
#include "eplb/sim/random_stream.hpp"
#include "print_vector.hpp"
#include "seed.hpp"

namespace eplb::placement {
namespace {

using Layers = std::vector<std::int32_t>;

TEST_CASE("who is nowhere worse and better somewhere dominates") {
  CHECK(dominates({1, 2}, {1, 3}));
  CHECK(dominates({0, 0}, {1, 3}));
  CHECK_FALSE(dominates({1, 2}, {1, 2}));
  CHECK_FALSE(dominates({0, 4}, {1, 3}));
  CHECK_FALSE(dominates({1, 3}, {1, 2}));
}

TEST_CASE("layers are peeled off one by one, and equals share one") {
  const std::vector<Costs> costs{{1, 4}, {2, 2}, {4, 1}, {2, 2}, {3, 3}, {4, 4}};
  CHECK(pareto_layers(costs) == Layers{0, 0, 0, 0, 1, 2});
  CHECK(pareto_layers(std::vector<Costs>{}).empty());
  CHECK(pareto_layers(std::vector<Costs>{{5}, {3}, {4}}) == Layers{2, 0, 1});
}

/// By definition: the layer is the longest chain of candidates that dominate one another, above it.
// NOLINTNEXTLINE(misc-no-recursion): as deep as a chain of at most ten candidates is long.
std::int32_t longest_chain_above(const std::vector<Costs>& costs, std::size_t index) {
  std::int32_t longest = 0;
  for (std::size_t other = 0; other < costs.size(); ++other) {
    if (dominates(costs[other], costs[index])) {
      longest = std::max(longest, 1 + longest_chain_above(costs, other));
    }
  }
  return longest;
}

TEST_CASE("a layer is the longest chain of dominators") {
  for (std::uint64_t seed = test::run_seed(); seed < test::run_seed() + 50; ++seed) {
    INFO(test::replay_hint(seed));
    sim::RandomStream random(seed, "pareto");
    std::vector<Costs> costs(1 + random.below(9), Costs(1 + random.below(3)));
    for (Costs& one : costs) {
      one.resize(costs.front().size());
      for (double& cost : one) {
        cost = static_cast<double>(random.below(4));
      }
    }
    const Layers layers = pareto_layers(costs);
    for (std::size_t index = 0; index < costs.size(); ++index) {
      REQUIRE(layers[index] == longest_chain_above(costs, index));
    }
  }
}

}  // namespace
}  // namespace eplb::placement
