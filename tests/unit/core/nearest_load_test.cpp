// Goal: load falls on ranks, and leaves its domain, as the maps of the nearest replicas say.
// Method: a layer worked by hand, and random layers against rows that are sent one by one through
// the maps.
#include "eplb/core/nearest_load.hpp"

#include <doctest/doctest.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/rank_load.hpp"
#include "placements.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::replay_hint;
using test::run_seed;

Topology topology_of(std::int32_t ranks, std::int32_t ranks_per_domain) {
  return Topology::create({.rank_count = ranks,
                           .ranks_per_node = ranks_per_domain,
                           .ranks_per_domain = ranks_per_domain})
      .value();
}

TEST_CASE("a layer by hand: two domains of two ranks, a hot expert with an odd copy") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 4, .rank_count = 4};
  // [0 1 | 2 0 || 3 2 | 0 3]
  const Placement placement = test::placement(shape, {{0, 1, 2, 0, 3, 2, 0, 3}});
  RealLoadMatrix load(1, 4);
  load << 80, 8, 16, 32;
  const NearestLoad nearest = nearest_load(placement, load, topology_of(4, 2));
  // Expert 0: the first domain's 40 on two ranks, the second's 40 on one. Expert 1: all on rank 0.
  // Expert 2: 8 on each of its ranks. Expert 3: 16 on each.
  CHECK(nearest.rank_loads(0, 0) == 20 + 8);
  CHECK(nearest.rank_loads(0, 1) == 8 + 20);
  CHECK(nearest.rank_loads(0, 2) == 16 + 8);
  CHECK(nearest.rank_loads(0, 3) == 40 + 16);
  // Half of expert 1's tokens come from the second domain, half of expert 3's from the first.
  CHECK(nearest.network_share == doctest::Approx((4.0 + 16.0) / 136).epsilon(1e-12));
}

TEST_CASE("in one domain load falls evenly and nothing leaves") {
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  const Placement placement = test::placement(shape, {{0, 1, 2, 0}});
  RealLoadMatrix load(1, 3);
  load << 4, 2, 1;
  const NearestLoad nearest = nearest_load(placement, load, topology_of(2, 2));
  ReplicaShares even = ReplicaShares::even();
  CHECK(nearest.rank_loads == rank_loads(placement, load, even));
  CHECK(nearest.network_share == 0);
  CHECK(nearest_load(placement, RealLoadMatrix::Zero(1, 3), topology_of(2, 2)).network_share == 0);
}

TEST_CASE("as rows that go through the maps of their ranks one by one") {
  constexpr std::uint32_t kRows = 240;  // Of a rank: whatever the count of replicas, alike on each.
  const Shape shape{
      .layer_count = 1, .expert_count = 6, .redundant_slot_count = 9, .rank_count = 5};
  const Topology topology = topology_of(5, 2);  // Domains of two, two and one.
  for (std::uint64_t seed = run_seed(); seed < run_seed() + 20; ++seed) {
    INFO(replay_hint(seed));
    boost::random::mt19937_64 random(seed);
    std::vector<std::int32_t> occupants{0, 1, 2, 3, 4, 5};
    boost::random::uniform_int_distribution<std::int32_t> any(0, 5);
    while (occupants.size() < 15) {
      occupants.push_back(any(random));
    }
    const Placement placement = test::placement(shape, {occupants});
    const LayerPlacement& layer = placement.layers()[0];
    RealLoadMatrix loads = RealLoadMatrix::Zero(1, 5);
    double leaving = 0;
    for (std::int32_t rank = 0; rank < 5; ++rank) {
      const DomainId home = topology.domain_of(RankId{rank});
      const LayerMap map = LayerMap::nearest(layer, topology, home);
      for (std::uint32_t row = 0; row < kRows; ++row) {
        for (std::uint32_t expert = 0; expert < 6; ++expert) {
          const ReplicaKey key{
              .row = row, .rank = static_cast<std::uint32_t>(rank), .layer = 0, .expert = expert};
          const SlotId slot = map.slot(LogicalExpertId{static_cast<std::int32_t>(expert)},
                                       map.replica(ReplicaChoice::kNearest, key));
          loads(0, layer.rank_of(slot).value) += 1;
          leaving += topology.domain_of(layer.rank_of(slot)) == home ? 0 : 1;
        }
      }
    }
    const RealLoadMatrix load = RealLoadMatrix::Constant(1, 6, 5.0 * kRows);
    const NearestLoad nearest = nearest_load(placement, load, topology);
    // The salted choice splits a rank's rows to within one row a replica count and rank.
    CHECK((nearest.rank_loads - loads).cwiseAbs().maxCoeff() <= 5 * 6);
    CHECK(nearest.rank_loads.sum() == doctest::Approx(loads.sum()));
    CHECK(nearest.network_share == doctest::Approx(leaving / loads.sum()).epsilon(0.02));
  }
}

}  // namespace
}  // namespace eplb
