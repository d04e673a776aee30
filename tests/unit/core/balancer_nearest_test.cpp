// Goal: with the nearest choice a rank publishes maps of its own domain, from the start and at
// every commit, and none where the choice is another. Method: a rank of a scripted group of two
// domains.
#include <doctest/doctest.h>

#include "balancer_fixture.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;

Topology apart() {
  return Topology::create({.rank_count = 2, .ranks_per_node = 1, .ranks_per_domain = 1}).value();
}

TEST_CASE("maps of the rank's own domain are published at the start and at commits") {
  BalancerFixture f;
  f.options.replica_choice = ReplicaChoice::kNearest;
  f.topology = apart();
  REQUIRE(f.balancer().layer_map(LayerId{0}).expert_count() == 4);
  const Placement initial = Placement::initial(BalancerFixture::kShape);
  REQUIRE(f.environment.publisher.maps.size() == 3);
  CHECK(f.environment.publisher.maps[0] ==
        LayerMap::nearest(initial.layers()[0], apart(), DomainId{0}));
  // Of [0, 1, 2 | 3, 0, 1] rank 0 has 0 and 1 itself.
  CHECK(f.environment.publisher.maps[0].replica_count(LogicalExpertId{0}) == 1);
  CHECK(f.environment.publisher.maps[0].slot(LogicalExpertId{3}, ReplicaIndex{0}) == SlotId{3});
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  for (int count = 0; count < 5 && f.balancer().rearrangements().empty(); ++count) {
    f.steps(1);
    f.settle();
  }
  REQUIRE(f.environment.publisher.maps.size() == 6);
  CHECK(f.environment.publisher.maps[3] ==
        LayerMap::nearest(BalancerFixture::exchanged().layers()[0], apart(), DomainId{0}));
  CHECK(f.environment.publisher.maps[5] == f.balancer().layer_map(LayerId{2}));
}

TEST_CASE("with other choices nothing is published before the first commit") {
  BalancerFixture f;
  f.steps(1);
  CHECK(f.environment.publisher.maps.empty());
  CHECK(f.balancer().layer_map(LayerId{0}) ==
        LayerMap::from(Placement::initial(BalancerFixture::kShape).layers()[0]));
}

}  // namespace
}  // namespace eplb
