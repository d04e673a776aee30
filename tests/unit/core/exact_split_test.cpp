// Goal: the exact split brings the busiest rank as low as the replicas allow. Method: chains of
// ranks worked out by hand, where tokens must pass through several experts; ties and no load.
#include "eplb/core/exact_split.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "placements.hpp"

namespace eplb {
namespace {

using test::layer_placement;
using Tokens = std::vector<std::int64_t>;

struct Dealt {
  std::int64_t largest;
  Tokens slots;
};

Dealt deal(const Shape& shape, const LayerPlacement& placement, const Tokens& counts) {
  ExactSplit split({.rank_count = shape.rank_count, .slots_per_rank = shape.slots_per_rank()});
  Dealt dealt{.largest = 0, .slots = Tokens(static_cast<std::size_t>(shape.slot_count()), -1)};
  dealt.largest = split.deal(counts, LayerMap::from(placement), dealt.slots);
  return dealt;
}

constexpr Shape kChain{
    .layer_count = 1, .expert_count = 5, .redundant_slot_count = 3, .rank_count = 4};

TEST_CASE("tokens pass along a chain of experts to a rank that the busy one shares nothing with") {
  // Ranks hold experts (0, 1), (1, 2), (2, 3) and (3, 4).
  const LayerPlacement placement = layer_placement(kChain, {0, 1, 1, 2, 2, 3, 3, 4});
  const Dealt dealt = deal(kChain, placement, {20, 40, 40, 0, 0});
  // 100 tokens on four ranks would be 25, but only ranks 0 to 2 hold experts 0 to 2: 34.
  CHECK(dealt.largest == 34);
  CHECK(dealt.slots[0] + dealt.slots[1] <= 34);
  CHECK(dealt.slots[2] + dealt.slots[3] <= 34);
  CHECK(dealt.slots[4] + dealt.slots[5] <= 34);
  CHECK(dealt.slots[1] + dealt.slots[2] == 40);
  CHECK(dealt.slots[3] + dealt.slots[4] == 40);
  // Experts 0 and 1 are on two ranks, 0 to 2 on three: with 50 and 75 the chain reaches all four.
  CHECK(deal(kChain, placement, {20, 30, 25, 25, 0}).slots == Tokens{20, 5, 25, 0, 25, 0, 25, 0});
  CHECK(deal(kChain, placement, {20, 40, 30, 10, 0}).largest == 30);
}

TEST_CASE("an expert alone on its rank cannot be split") {
  const LayerPlacement placement = layer_placement(kChain, {0, 1, 1, 2, 2, 3, 3, 4});
  CHECK(deal(kChain, placement, {50, 1, 1, 1, 1}).largest == 50);
  CHECK(deal(kChain, placement, {50, 1, 1, 1, 1}).slots[1] == 0);
}

TEST_CASE("an even split that is best already stays as it is, and no load stays none") {
  const LayerPlacement placement = layer_placement(kChain, {0, 1, 1, 2, 2, 3, 3, 4});
  CHECK(deal(kChain, placement, {5, 10, 10, 10, 5}).slots == Tokens{5, 5, 5, 5, 5, 5, 5, 5});
  const Dealt none = deal(kChain, placement, {0, 0, 0, 0, 0});
  CHECK(none.largest == 0);
  CHECK(none.slots == Tokens(8, 0));
}

TEST_CASE("copies on one rank are one, and empty slots get nothing") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 2};
  const LayerPlacement placement = layer_placement(shape, {0, 0, 1, 0, -1, -1});
  const Dealt dealt = deal(shape, placement, {31, 20});
  CHECK(dealt.largest == 26);
  CHECK(dealt.slots[0] + dealt.slots[1] + dealt.slots[3] == 31);
  CHECK(dealt.slots[2] == 20);
  CHECK(dealt.slots[4] + dealt.slots[5] == 0);
}

TEST_CASE("an object deals layer after layer, each as if it were the first") {
  const LayerPlacement placement = layer_placement(kChain, {0, 1, 1, 2, 2, 3, 3, 4});
  const LayerMap map = LayerMap::from(placement);
  ExactSplit split({.rank_count = 4, .slots_per_rank = 2});
  Tokens first(8);
  Tokens again(8);
  const Tokens counts{20, 40, 30, 10, 0};
  CHECK(split.deal(counts, map, first) == 30);
  CHECK(split.deal(Tokens{50, 1, 1, 1, 1}, map, again) == 50);
  CHECK(split.deal(counts, map, again) == 30);
  CHECK(first == again);
}

}  // namespace
}  // namespace eplb
