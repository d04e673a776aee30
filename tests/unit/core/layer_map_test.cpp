// Goal: a layer map lists each expert's slots as the forward looks them up. Method: the reference's
// example [[0,1,2,0],[1,2,0,1]] and maps with empty slots, entry by entry.
#include "eplb/core/layer_map.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "placements.hpp"

namespace eplb {
namespace {

using test::layer_placement;
using Entries = std::vector<std::int32_t>;

constexpr Shape kShape{.layer_count = 2,
                       .expert_count = 3,
                       .redundant_slot_count = 1,
                       .rank_count = 2,
                       .expert_group_count = 1};

Entries blocks_of(const LayerMap& map) {
  return {map.blocks().begin(), map.blocks().end()};
}

Entries slots_of(const LayerMap& map, std::int32_t expert) {
  const auto slots = map.slots(LogicalExpertId{expert});
  return {slots.begin(), slots.end()};
}

TEST_CASE("a layer map holds a count, the slots in ascending order and -1 up to its width") {
  CHECK(blocks_of(LayerMap::from(layer_placement(kShape, {0, 1, 2, 0}))) ==
        Entries{2, 0, 3, 1, 1, -1, 1, 2, -1});
  CHECK(blocks_of(LayerMap::from(layer_placement(kShape, {1, 2, 0, 1}))) ==
        Entries{1, 2, -1, 2, 0, 3, 1, 1, -1});
}

TEST_CASE("an expert's replicas are its slots, replica 0 in the lowest") {
  const LayerMap map = LayerMap::from(layer_placement(kShape, {1, 2, 0, 1}));
  CHECK(map.expert_count() == 3);
  CHECK(map.replica_count(LogicalExpertId{0}) == 1);
  CHECK(map.replica_count(LogicalExpertId{1}) == 2);
  CHECK(slots_of(map, 0) == Entries{2});
  CHECK(slots_of(map, 1) == Entries{0, 3});
  CHECK(slots_of(map, 2) == Entries{1});
  CHECK(map.slot(LogicalExpertId{1}, ReplicaIndex{0}) == SlotId{0});
  CHECK(map.slot(LogicalExpertId{1}, ReplicaIndex{1}) == SlotId{3});
}

TEST_CASE("one expert may take every redundant slot: the width is R + 1") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 3};
  CHECK(LayerMap::slots_width(shape) == 5);
  const LayerMap map = LayerMap::from(layer_placement(shape, {1, 1, 0, 1, 1, 1}));
  CHECK(blocks_of(map) == Entries{1, 2, -1, -1, -1, -1, 5, 0, 1, 3, 4, 5});
}

TEST_CASE("the nearest replicas are those of the domain, and all where it has none") {
  // Ranks of two slots, two to a domain: [0 1 | 2 0 || 3 2 | 3 3].
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 4, .rank_count = 4};
  const Topology topology =
      Topology::create({.rank_count = 4, .ranks_per_node = 2, .ranks_per_domain = 2}).value();
  const LayerPlacement placement = layer_placement(shape, {0, 1, 2, 0, 3, 2, 3, 3});
  const LayerMap first = LayerMap::nearest(placement, topology, DomainId{0});
  CHECK(slots_of(first, 0) == Entries{0, 3});
  CHECK(slots_of(first, 1) == Entries{1});
  CHECK(slots_of(first, 2) == Entries{2});
  CHECK(slots_of(first, 3) == Entries{4, 6, 7});
  const LayerMap second = LayerMap::nearest(placement, topology, DomainId{1});
  CHECK(slots_of(second, 0) == Entries{0, 3});
  CHECK(slots_of(second, 1) == Entries{1});
  CHECK(slots_of(second, 2) == Entries{5});
  CHECK(slots_of(second, 3) == Entries{4, 6, 7});
  CHECK(blocks_of(second).size() == blocks_of(LayerMap::from(placement)).size());
  const auto third = second.block(LogicalExpertId{2});
  CHECK(Entries(third.begin(), third.end()) == Entries{1, 5, -1, -1, -1, -1});
}

TEST_CASE("in one domain all replicas are near") {
  const Topology topology = Topology::create({.rank_count = 2, .ranks_per_domain = 2}).value();
  const LayerPlacement placement = layer_placement(kShape, {0, 1, 2, 0});
  CHECK(LayerMap::nearest(placement, topology, DomainId{0}) == LayerMap::from(placement));
}

TEST_CASE("the nearest choice is the salted one over the replicas that a map has") {
  const LayerMap map = LayerMap::from(layer_placement(kShape, {0, 1, 2, 0}));
  for (std::uint32_t row = 0; row < 64; ++row) {
    const ReplicaKey key{.row = row, .rank = row % 5, .layer = 1, .expert = 0};
    CHECK(map.replica(ReplicaChoice::kNearest, key) == map.replica(ReplicaChoice::kSalted, key));
  }
}

TEST_CASE("without redundancy the width is one slot") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 2};
  CHECK(blocks_of(LayerMap::from(layer_placement(shape, {2, 0, 3, 1}))) ==
        Entries{1, 1, 1, 3, 1, 0, 1, 2});
}

TEST_CASE("empty slots appear in no expert's list") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 3};
  const LayerMap map = LayerMap::from(layer_placement(shape, {-1, 0, 1, 0, -1, -1}));
  CHECK(blocks_of(map) == Entries{2, 1, 3, -1, -1, -1, 1, 2, -1, -1, -1, -1});
}

}  // namespace
}  // namespace eplb
