// Goal: only whole placements exist, and what is derived from one is right. Method: small
// placements by hand, every way to break one, and counts worked out on paper.
#include "eplb/core/placement.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "placements.hpp"

namespace eplb {
namespace {

using test::layer_placement;
using test::placement;

constexpr Shape kShape{.layer_count = 2,
                       .expert_count = 3,
                       .redundant_slot_count = 1,
                       .rank_count = 2,
                       .expert_group_count = 1};

std::vector<std::int32_t> experts_of(const LayerPlacement& layer) {
  std::vector<std::int32_t> experts;
  for (const LogicalExpertId expert : layer.occupants()) {
    experts.push_back(expert.value);
  }
  return experts;
}

template <typename T>
std::string refusal(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kInvalidArgument);
  return result.error().message;
}

TEST_CASE("a layer's placement knows its ranks and slots") {
  const LayerPlacement layer = layer_placement(kShape, {0, 1, 2, 0});
  CHECK(layer.slot_count() == 4);
  CHECK(layer.expert_count() == 3);
  CHECK(layer.rank_count() == 2);
  CHECK(layer.slots_per_rank() == 2);
  CHECK(layer.first_slot(RankId{1}) == SlotId{2});
  CHECK(layer.rank_of(SlotId{1}) == RankId{0});
  CHECK(layer.rank_of(SlotId{2}) == RankId{1});
  CHECK(layer.occupant(SlotId{3}) == LogicalExpertId{0});
  REQUIRE(layer.on_rank(RankId{1}).size() == 2);
  CHECK(layer.on_rank(RankId{1})[0] == LogicalExpertId{2});
  CHECK(layer.on_rank(RankId{1})[1] == LogicalExpertId{0});
  CHECK(layer.replica_counts() == std::vector<std::int32_t>{2, 1, 1});
}

TEST_CASE("empty slots belong to no expert's replicas") {
  const LayerPlacement layer = layer_placement(kShape, {2, 1, 0, -1});
  CHECK(layer.occupant(SlotId{3}) == kNoExpert);
  CHECK(layer.replica_counts() == std::vector<std::int32_t>{1, 1, 1});
}

TEST_CASE("the initial placement puts expert p mod E into slot p, in every layer alike") {
  CHECK(experts_of(LayerPlacement::initial(
            {.layer_count = 1, .expert_count = 3, .redundant_slot_count = 5, .rank_count = 4})) ==
        std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1});
  const Placement initial = Placement::initial(kShape);
  CHECK(initial == placement(kShape, {{0, 1, 2, 0}, {0, 1, 2, 0}}));
}

TEST_CASE("a layer's placement that is not whole is refused with its first fault") {
  const auto refused = [](std::vector<LogicalExpertId> occupants) {
    return refusal(LayerPlacement::create(kShape, std::move(occupants)));
  };
  CHECK(refused({{0}, {1}, {2}}) == "a layer's placement must have 4 slots, got 3");
  CHECK(refused({{0}, {1}, {2}, {0}, {0}}) == "a layer's placement must have 4 slots, got 5");
  CHECK(refused({{0}, {3}, {2}, {-2}}) == "slot 1 holds expert 3, allowed are -1 to 2");
  CHECK(refused({{0}, {1}, {2}, {-2}}) == "slot 3 holds expert -2, allowed are -1 to 2");
  CHECK(refused({{0}, {0}, {2}, {-1}}) == "expert 1 has no slot");
  CHECK(refused({{-1}, {-1}, {-1}, {-1}}) == "expert 0 has no slot");
}

TEST_CASE("a layer's placement of an illegal shape is refused") {
  Shape shape = kShape;
  shape.rank_count = 3;
  CHECK(
      refusal(LayerPlacement::create(shape, {{0}, {1}, {2}, {0}})) ==
      "3 experts + 1 redundant cannot be divided over 3 ranks; the nearest legal redundancy is 3");
}

TEST_CASE("a placement needs one layer each, all of its shape") {
  const LayerPlacement layer = LayerPlacement::initial(kShape);
  CHECK(refusal(Placement::create(kShape, {layer})) == "a placement must have 2 layers, got 1");
  CHECK(refusal(Placement::create(kShape, {layer, layer, layer})) ==
        "a placement must have 2 layers, got 3");

  Shape other_ranks = kShape;
  other_ranks.rank_count = 4;
  CHECK(refusal(Placement::create(kShape, {layer, LayerPlacement::initial(other_ranks)})) ==
        "a layer's placement has another shape");
  Shape other_experts = kShape;
  other_experts.expert_count = 2;
  other_experts.redundant_slot_count = 2;
  CHECK(refusal(Placement::create(kShape, {LayerPlacement::initial(other_experts), layer})) ==
        "a layer's placement has another shape");
}

TEST_CASE("a placement without layers still needs a legal shape") {
  Shape shape = kShape;
  shape.layer_count = 0;
  CHECK(Placement::create(shape, {}).has_value());
  shape.rank_count = 0;
  CHECK(refusal(Placement::create(shape, {})) == "ranks must be at least 1, got 0");
}

TEST_CASE("exchanging a layer leaves the others alone") {
  const Placement changed =
      Placement::initial(kShape).with_layer(LayerId{1}, layer_placement(kShape, {2, 2, 1, 0}));
  CHECK(changed == placement(kShape, {{0, 1, 2, 0}, {2, 2, 1, 0}}));
  CHECK(changed.layer(LayerId{1}).occupant(SlotId{1}) == LogicalExpertId{2});
}

TEST_CASE("placements differ if a slot or the shape differs") {
  CHECK(placement(kShape, {{0, 1, 2, 0}, {0, 1, 2, 0}}) !=
        placement(kShape, {{0, 1, 2, 0}, {0, 1, 2, 1}}));
  Shape grouped = kShape;
  grouped.expert_group_count = 3;
  CHECK(Placement::initial(kShape) != Placement::initial(grouped));
}

TEST_CASE("duplicates are the further copies of an expert on one rank") {
  const Shape shape{
      .layer_count = 2, .expert_count = 2, .redundant_slot_count = 6, .rank_count = 2};
  // Rank 0 holds expert 0 three times, rank 1 holds two of each; empty slots duplicate nothing.
  CHECK(duplicate_count(
            placement(shape, {{0, 0, 1, 0, 1, 0, 1, 0}, {0, 1, -1, -1, -1, -1, -1, -1}})) == 4);
  CHECK(duplicate_count(placement(shape, {{0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 1, 1, 1, 1}})) ==
        10);
}

TEST_CASE("moved experts are the slots whose expert is new on its rank") {
  const Shape shape{
      .layer_count = 2, .expert_count = 3, .redundant_slot_count = 3, .rank_count = 2};
  const Placement before = placement(shape, {{0, 1, 1, 2, 0, 0}, {0, 1, 2, 0, 1, 2}});
  CHECK(moved_expert_count(before, before) == 0);
  // Layer 0: the two copies of 2 on rank 0 and the 1 on rank 1 are new; 0 moves within rank 0.
  // Layer 1: only the order within ranks changes, and a slot empties.
  const Placement after = placement(shape, {{2, 2, 0, 2, 1, 0}, {2, 1, 0, 2, 1, -1}});
  CHECK(moved_expert_count(before, after) == 3);
}

}  // namespace
}  // namespace eplb
