// Goal: the peers' ideas do what they are known for: snake deals, static plans once, local_first
// spreads copies over nodes, swift stops early, flash leaves a layer alone that is level enough.
// Method: layers small enough to be worked by hand.
#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "placements.hpp"
#include "plan.hpp"

namespace eplb::test {
namespace {

using Numbers = std::vector<std::int32_t>;

constexpr Shape kTwoRanks{.layer_count = 1, .expert_count = 6, .rank_count = 2};

Numbers planned(std::string_view policy, const Placement& current, const RealLoadMatrix& load) {
  return numbers_of(plan({.policy = policy, .shape = current.shape(), .current = &current}, load)
                        .layers()[0]
                        .occupants());
}

TEST_CASE("snake deals the largest first, forth and back") {
  const RealLoadMatrix load = load_of({{9, 8, 7, 3, 2, 1}});
  const Placement placed = plan({.policy = "snake", .shape = kTwoRanks}, load);
  CHECK(numbers_of(placed.layers()[0].occupants()) == Numbers{0, 3, 4, 1, 2, 5});
}

TEST_CASE("snake gives spare slots to the largest load a copy") {
  // Copies of 6, 6, 5 and 1: forth 0, 0, back 1, 2.
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  const Placement placed = plan({.policy = "snake", .shape = shape}, load_of({{12, 5, 1}}));
  CHECK(numbers_of(placed.layers()[0].occupants()) == Numbers{0, 2, 0, 1});
}

TEST_CASE("static plans as default does, once") {
  const Placement initial = Placement::initial(kTwoRanks);
  const RealLoadMatrix first = load_of({{9, 4, 1, 5, 0.5, 0.5}});
  const Placement placed =
      plan({.policy = "static", .shape = kTwoRanks, .current = &initial}, first);
  CHECK(placed == plan({.policy = "default", .shape = kTwoRanks, .current = &initial}, first));
  CHECK(placed != initial);
  CHECK(plan({.policy = "static", .shape = kTwoRanks, .current = &placed},
             load_of({{1, 1, 1, 20, 30, 40}})) == placed);
}

TEST_CASE("local_first gives each node a copy before any has two") {
  // Three copies of expert 0 and four ranks on two nodes: one copy to one node, two to the other.
  const Shape shape{
      .layer_count = 1, .expert_count = 6, .redundant_slot_count = 2, .rank_count = 4};
  const Placement placed = plan({.policy = "local_first", .shape = shape, .node_count = 2},
                                load_of({{30, 1, 1, 1, 1, 1}}));
  const LayerPlacement& layer = placed.layers()[0];
  CHECK(layer.replica_counts()[0] == 3);
  std::vector<std::int32_t> copies_on_node(2, 0);
  for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
    if (layer.occupant(SlotId{slot}) == LogicalExpertId{0}) {
      ++copies_on_node[static_cast<std::size_t>(slot / 4)];
    }
  }
  CHECK(copies_on_node == Numbers{2, 1});
  CHECK(duplicate_count(placed) == 0);
}

TEST_CASE("swift makes the exchange that levels two ranks") {
  const Placement current = placement(kTwoRanks, {{0, 1, 2, 3, 4, 5}});
  CHECK(planned("swift", current, load_of({{9, 4, 1, 5, 0.5, 0.5}})) == Numbers{3, 1, 2, 0, 4, 5});
}

TEST_CASE("swift exchanges one expert between two ranks, where two would be better") {
  // 16 against 0: after one exchange 12 against 4, a second one would level them.
  const Shape shape{.layer_count = 1, .expert_count = 8, .rank_count = 2};
  const Placement current = placement(shape, {{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(planned("swift", current, load_of({{4, 4, 4, 4, 0, 0, 0, 0}})) ==
        Numbers{4, 1, 2, 3, 0, 5, 6, 7});
}

TEST_CASE("swift leaves a layer within 1 % of level, and gains under 1 %") {
  const Placement current = placement(kTwoRanks, {{0, 1, 2, 3, 4, 5}});
  CHECK(planned("swift", current, load_of({{505, 250, 250, 500, 250, 245}})) ==
        Numbers{0, 1, 2, 3, 4, 5});
  // 1015 against 990: exchanging 505 for 490 gains 10, under 1 % of 1002.5.
  CHECK(planned("swift", current, load_of({{255, 255, 505, 250, 250, 490}})) ==
        Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("flash keeps a layer that is about as level as a plan would make it") {
  const Placement current = placement(kTwoRanks, {{0, 1, 2, 3, 4, 5}});
  // 10 against 9.5, levelness 0.975.
  CHECK(planned("flash", current, load_of({{5, 3, 2, 4.8, 2.7, 2}})) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("flash plans a layer anew that has fallen off, ranks renamed and slots kept") {
  // 14 against 6. Largest first: {9, 1, 0.5} and {5, 4, 0.5}.
  const Placement current = placement(kTwoRanks, {{0, 1, 2, 3, 4, 5}});
  CHECK(planned("flash", current, load_of({{9, 4, 1, 5, 0.5, 0.5}})) == Numbers{0, 5, 2, 3, 4, 1});
  const Placement turned = placement(kTwoRanks, {{3, 4, 5, 0, 1, 2}});
  CHECK(planned("flash", turned, load_of({{9, 4, 1, 5, 0.5, 0.5}})) == Numbers{3, 4, 1, 0, 5, 2});
}

TEST_CASE("flash puts apart what rises together") {
  // All experts get 4 in the mean; 0 and 1 rise while 2 and 3 fall. Placed as {0, 1 | 2, 3} a rank
  // has 12 of 16 in each part.
  const Shape shape{.layer_count = 1, .expert_count = 4, .rank_count = 2};
  const Placement current = placement(shape, {{0, 1, 2, 3}});
  const std::vector<RealLoadMatrix> history{load_of({{6, 6, 2, 2}}), load_of({{2, 2, 6, 6}})};
  const Topology topology = Topology::create({.rank_count = 2, .ranks_per_node = 2}).value();
  const Placement placed = placement::make_policy("flash")
                               .value()
                               ->place({.shape = shape,
                                        .topology = topology,
                                        .history = history,
                                        .window_part_count = 2,
                                        .current = &current,
                                        .costs = {}})
                               .value();
  const Numbers rank_0 = numbers_of(placed.layers()[0].on_rank(RankId{0}));
  CHECK((rank_0[0] < 2) != (rank_0[1] < 2));
}

}  // namespace
}  // namespace eplb::test
