// Goal: what is counted over a placement is what sets would count. Method: random worlds with empty
// slots; the same counts taken with sets of (rank, expert).
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "eplb/core/placement.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;
using Holders = std::set<std::pair<RankId, LogicalExpertId>>;

Holders holders_of(const LayerPlacement& layer) {
  Holders holders;
  for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
    if (layer.occupant(SlotId{slot}) != kNoExpert) {
      holders.emplace(layer.rank_of(SlotId{slot}), layer.occupant(SlotId{slot}));
    }
  }
  return holders;
}

TEST_CASE("duplicates are the occupied slots beyond one for each rank and expert") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    const Placement placement = worlds.placement(worlds.shape(), true);
    std::int64_t expected = 0;
    for (const LayerPlacement& layer : placement.layers()) {
      const auto counts = layer.replica_counts();
      expected += std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) -
                  static_cast<std::int64_t>(holders_of(layer).size());
    }
    REQUIRE(duplicate_count(placement) == expected);
  }
}

TEST_CASE("moved experts are the slots whose rank and expert were no pair before") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const Placement before = worlds.placement(shape, true);
    const Placement after = worlds.placement(shape, true);
    std::int64_t expected = 0;
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      const Holders held = holders_of(before.layer(LayerId{layer}));
      const LayerPlacement& wanted = after.layer(LayerId{layer});
      for (std::int32_t slot = 0; slot < wanted.slot_count(); ++slot) {
        const LogicalExpertId expert = wanted.occupant(SlotId{slot});
        const bool moved =
            expert != kNoExpert && held.count({wanted.rank_of(SlotId{slot}), expert}) == 0;
        expected += moved ? 1 : 0;
      }
    }
    REQUIRE(moved_expert_count(before, after) == expected);
    REQUIRE(moved_expert_count(before, before) == 0);
  }
}

}  // namespace
}  // namespace eplb
