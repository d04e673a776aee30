// Goal: shares are whole units that sum to everything, and a row picks a replica by where its point
// lies among them. Method: units worked out by hand, thresholds at their very edges, and counts of
// rows against shares.
#include "eplb/core/layer_shares.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "placements.hpp"

namespace eplb {
namespace {

using test::layer_placement;
using Units = std::vector<std::uint16_t>;

constexpr Shape kShape{
    .layer_count = 1, .expert_count = 3, .redundant_slot_count = 3, .rank_count = 2};

/// Expert 0 in slots 0, 3 and 5, expert 1 in slots 1 and 4, expert 2 in slot 2.
LayerPlacement layer() {
  return layer_placement(kShape, {0, 1, 2, 0, 1, 0});
}

Units units_of(const LayerShares& shares) {
  return {shares.units().begin(), shares.units().end()};
}

std::string refusal(const LayerPlacement& placement, Units units) {
  const auto created = LayerShares::create(placement, std::move(units));
  REQUIRE_FALSE(created.has_value());
  return created.error().message;
}

TEST_CASE("even shares differ by a unit at most, the first ones having more") {
  CHECK(units_of(LayerShares::even(layer())) == Units{21845, 32768, 65535, 21845, 32767, 21845});
  CHECK(LayerShares::even(layer()).of(SlotId{2}) == 1.0);
}

TEST_CASE("the nearest units to weights sum to all of them, the largest remainder first") {
  const std::vector<double> weights{1, 3, 7, 0, 1, 2};
  // 65535 / 3 and twice that are whole; 3/4 of 65535 is 49151.25 and 1/4 of it 16383.75.
  CHECK(units_of(LayerShares::nearest(layer(), weights)) ==
        Units{21845, 49151, 65535, 0, 16384, 43690});
  CHECK(LayerShares::nearest(layer(), std::vector<double>(6, 0.0)) == LayerShares::even(layer()));
}

TEST_CASE("shares that do not sum to everything, or are of an empty slot, are refused by name") {
  CHECK(LayerShares::create(layer(), {65535, 0, 65535, 0, 65535, 0}).has_value());
  CHECK(refusal(layer(), {65535, 0}) == "shares must have an entry for each of 6 slots, got 2");
  CHECK(refusal(layer(), {65535, 0, 65535, 0, 65534, 0}) ==
        "the shares of expert 1 sum to 65534, not to 65535");
  CHECK(refusal(layer_placement(kShape, {0, 1, 2, 0, 1, -1}), {65535, 0, 65535, 0, 65535, 1}) ==
        "slot 5 is empty and has a share");
}

TEST_CASE("a map has cumulative units, of all replicas but the last") {
  const LayerMap map = LayerMap::from(
      layer(), LayerShares::create(layer(), {10, 0, 65535, 20, 65535, 65505}).value());
  CHECK(map.has_shares());
  const auto of = [&](std::int32_t expert) {
    const auto thresholds = map.thresholds(LogicalExpertId{expert});
    return Units{thresholds.begin(), thresholds.end()};
  };
  CHECK(of(0) == Units{10, 30});
  CHECK(of(1) == Units{0});
  CHECK(of(2) == Units{});
  CHECK(map.blocks().size() == LayerMap::from(layer()).blocks().size());
  CHECK_FALSE(LayerMap::from(layer()).has_shares());
  CHECK(map != LayerMap::from(layer()));
}

TEST_CASE("a point belongs to the replica whose units it is among, edges included") {
  const Units thresholds{10, 10, 65535};
  const auto at = [&](std::uint32_t point) { return shared_replica(point, thresholds.data(), 3); };
  CHECK(at(0) == 0);
  CHECK(at(9) == 0);
  CHECK(at(10) == 2);     // The second has no units.
  CHECK(at(65534) == 2);  // No point is past the last unit, so the fourth is never chosen.
}

TEST_CASE("points are below the units, whatever the key") {
  for (std::uint32_t row = 0; row < 4096; ++row) {
    REQUIRE(share_point({.row = row * 1048573U, .rank = row, .layer = row % 61, .expert = row}) <
            kShareUnits);
  }
}

TEST_CASE("thresholds of even shares are what a map of even shares holds") {
  const Shape shape{
      .layer_count = 1, .expert_count = 1, .redundant_slot_count = 6, .rank_count = 7};
  const LayerPlacement placement = layer_placement(shape, {0, 0, 0, 0, 0, 0, 0});
  const LayerMap map = LayerMap::from(placement, LayerShares::even(placement));
  const auto thresholds = map.thresholds(LogicalExpertId{0});
  REQUIRE(thresholds.size() == 6);
  for (std::uint32_t replica = 0; replica < 6; ++replica) {
    CHECK(thresholds[replica] == even_threshold(replica, 7));
  }
  CHECK(even_threshold(6, 7) == kShareUnits);
  const LayerMap plain = LayerMap::from(placement);
  for (std::uint32_t row = 0; row < 500; ++row) {
    const ReplicaKey key{.row = row, .rank = 3, .layer = 5, .expert = 0};
    REQUIRE(map.replica(ReplicaChoice::kShares, key) == plain.replica(ReplicaChoice::kShares, key));
  }
}

TEST_CASE("even choices do not look at shares") {
  const LayerMap map =
      LayerMap::from(layer(), LayerShares::create(layer(), {0, 0, 65535, 0, 65535, 65535}).value());
  for (std::uint32_t row = 0; row < 200; ++row) {
    const ReplicaKey key{.row = row, .rank = 1, .layer = 0, .expert = 0};
    REQUIRE(map.replica(ReplicaChoice::kHash, key).value ==
            static_cast<std::int32_t>(choose_replica(ReplicaChoice::kHash, key, 3)));
    REQUIRE(map.replica(ReplicaChoice::kSalted, key).value ==
            static_cast<std::int32_t>(choose_replica(ReplicaChoice::kSalted, key, 3)));
    REQUIRE(map.replica(ReplicaChoice::kShares, key).value == 2);
  }
}

// Rows over ranks, as many as a decode step of speculative requests has and as few as one a rank;
// and every sixth row, the first of each request.
TEST_CASE("rows fall on replicas by their shares, however few they are") {
  const LayerMap map =
      LayerMap::from(layer(), LayerShares::nearest(layer(), std::vector<double>{5, 1, 1, 2, 1, 3}));

  struct Case {
    std::uint32_t rows;
    std::uint32_t ranks;
    std::uint32_t stride;
    double worst;  ///< Of a share, absolute.
  };

  for (const Case& c : {Case{768, 32, 1, 0.002}, Case{768, 32, 6, 0.006}, Case{128, 1, 1, 0.02},
                        Case{1, 32, 1, 0.06}, Case{8, 8, 1, 0.05}}) {
    CAPTURE(c.rows);
    CAPTURE(c.stride);
    for (std::uint32_t moe_layer = 0; moe_layer < 20; ++moe_layer) {
      std::vector<double> picked(3, 0.0);
      double total = 0;
      for (std::uint32_t rank = 0; rank < c.ranks; ++rank) {
        for (std::uint32_t row = 0; row < c.rows; row += c.stride) {
          const ReplicaIndex replica = map.replica(
              ReplicaChoice::kShares, {.row = row, .rank = rank, .layer = moe_layer, .expert = 0});
          picked[replica.index()] += 1;
          total += 1;
        }
      }
      CHECK(std::abs(picked[0] / total - 0.5) <= c.worst);
      CHECK(std::abs(picked[1] / total - 0.2) <= c.worst);
      CHECK(std::abs(picked[2] / total - 0.3) <= c.worst);
    }
  }
}

}  // namespace
}  // namespace eplb
