// Goal: a layer map is its placement read the other way. Method: random layers, with empty slots;
// the map is turned back into a placement and its blocks are read as a device reads them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

TEST_CASE("a layer map inverts its placement") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 500; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const LayerPlacement layer = worlds.layer_placement(shape, true);
    const LayerMap map = LayerMap::from(layer);
    REQUIRE(map.expert_count() == shape.expert_count);

    std::vector<LogicalExpertId> occupants(layer.occupants().size(), kNoExpert);
    for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
      const auto slots = map.slots(LogicalExpertId{expert});
      REQUIRE(std::ranges::is_sorted(slots));
      for (const std::int32_t slot : slots) {
        REQUIRE(occupants[static_cast<std::size_t>(slot)] == kNoExpert);
        occupants[static_cast<std::size_t>(slot)] = LogicalExpertId{expert};
      }
    }
    REQUIRE(std::ranges::equal(occupants, layer.occupants()));
  }
}

TEST_CASE("a device finds count, slots and padding of each expert in its block") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 500; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const LayerPlacement layer = worlds.layer_placement(shape, true);
    const LayerMap map = LayerMap::from(layer);
    const auto width = static_cast<std::size_t>(LayerMap::slots_width(shape)) + 1;
    const std::vector<std::int32_t> counts = layer.replica_counts();
    REQUIRE(map.blocks().size() == counts.size() * width);
    for (std::size_t expert = 0; expert < counts.size(); ++expert) {
      const auto block = map.blocks().subspan(expert * width, width);
      REQUIRE(block[0] == counts[expert]);
      for (std::size_t entry = 1; entry < width; ++entry) {
        const bool used = entry <= static_cast<std::size_t>(block[0]);
        REQUIRE((block[entry] >= 0) == used);
        REQUIRE((used || block[entry] == -1));
      }
    }
  }
}

}  // namespace
}  // namespace eplb
