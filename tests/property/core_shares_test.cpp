// Goal: shares sum to one, every token goes to exactly one replica of its own expert, and the exact
// split is the best there is. Method: random worlds; brute force over every split of small counts,
// and over all sets of experts, whose worst is the best split by the min-cut theorem.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "eplb/core/exact_split.hpp"
#include "eplb/core/learnt_shares.hpp"
#include "eplb/core/rank_load.hpp"
#include "eplb/placement/bounds.hpp"
#include "placement_oracle.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;
using Tokens = std::vector<std::int64_t>;

/// One layer of a random world with a load.
struct World {
  Shape shape;
  LayerPlacement placement;
  Tokens counts;

  static World draw(RandomWorlds& worlds, std::int32_t most) {
    Shape shape = worlds.shape();
    LayerPlacement placement = worlds.layer_placement(shape, true);
    Tokens counts(static_cast<std::size_t>(shape.expert_count));
    // Now and then one expert outweighs the rest.
    const std::int32_t hot = worlds.between(0, 3 * shape.expert_count);
    std::int32_t index = 0;
    for (std::int64_t& count : counts) {
      count = worlds.between(0, index++ == hot ? 20 * most : most);
    }
    return {.shape = shape, .placement = std::move(placement), .counts = std::move(counts)};
  }

  [[nodiscard]] RealLoadMatrix load() const {
    RealLoadMatrix load(1, static_cast<Eigen::Index>(counts.size()));
    std::ranges::transform(counts, load.data(),
                           [](auto count) { return static_cast<double>(count); });
    return load;
  }
};

std::int64_t largest_rank_sum(const World& world, const Tokens& slots) {
  Tokens sums(static_cast<std::size_t>(world.shape.rank_count), 0);
  for (std::int32_t slot = 0; slot < world.shape.slot_count(); ++slot) {
    sums[world.placement.rank_of(SlotId{slot}).index()] += slots[static_cast<std::size_t>(slot)];
  }
  return *std::ranges::max_element(sums);
}

/// What each expert's slots got, and that no slot got what is not its own.
void require_conserved(const World& world, const Tokens& slots) {
  Tokens sums(world.counts.size(), 0);
  for (std::int32_t slot = 0; slot < world.shape.slot_count(); ++slot) {
    const LogicalExpertId expert = world.placement.occupant(SlotId{slot});
    const std::int64_t tokens = slots[static_cast<std::size_t>(slot)];
    REQUIRE(tokens >= 0);
    if (expert == kNoExpert) {
      REQUIRE(tokens == 0);
    } else {
      sums[expert.index()] += tokens;
    }
  }
  REQUIRE(sums == world.counts);
}

/// The least largest rank load over every way to deal every token, one expert after another.
std::int64_t best_by_enumeration(const World& world) {
  const LayerMap map = LayerMap::from(world.placement);
  Tokens ranks(static_cast<std::size_t>(world.shape.rank_count), 0);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  const std::function<void(std::size_t, std::size_t, std::int64_t)> deal =
      [&](std::size_t expert, std::size_t replica, std::int64_t left) {
        if (expert == world.counts.size()) {
          best = std::min(best, *std::ranges::max_element(ranks));
          return;
        }
        const auto slots = map.slots(LogicalExpertId{static_cast<std::int32_t>(expert)});
        const bool last = replica + 1 == slots.size();
        std::int64_t& rank = ranks[world.placement.rank_of(SlotId{slots[replica]}).index()];
        for (std::int64_t tokens = last ? left : 0; tokens <= left; ++tokens) {
          rank += tokens;
          if (last) {
            const std::size_t next = expert + 1;
            deal(next, 0, next < world.counts.size() ? world.counts[next] : 0);
          } else {
            deal(expert, replica + 1, left - tokens);
          }
          rank -= tokens;
        }
      };
  deal(0, 0, world.counts.front());
  return best;
}

/// The largest rank's tokens under the exact split, which gives every token to a copy of its
/// expert.
std::int64_t require_split(const World& world) {
  ExactSplit split(
      {.rank_count = world.shape.rank_count, .slots_per_rank = world.shape.slots_per_rank()});
  Tokens slots(static_cast<std::size_t>(world.shape.slot_count()));
  const std::int64_t largest = split.deal(world.counts, LayerMap::from(world.placement), slots);
  require_conserved(world, slots);
  REQUIRE(largest_rank_sum(world, slots) == largest);
  return largest;
}

TEST_CASE("the exact split equals the best of all splits of every token") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  int compared = 0;
  for (int index = 0; index < 3000; ++index) {
    CAPTURE(index);
    const World world = World::draw(worlds, 3);
    if (world.shape.expert_count > 4 || world.shape.slot_count() > 9 ||
        *std::ranges::max_element(world.counts) > 9) {
      continue;
    }
    const std::int64_t largest = require_split(world);
    REQUIRE(largest == best_by_enumeration(world));
    ++compared;
  }
  CHECK(compared > 100);
}

TEST_CASE("the exact split is the worst set of experts' load a rank, in whole tokens") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  int compared = 0;
  for (int index = 0; index < 2000; ++index) {
    CAPTURE(index);
    const World world = World::draw(worlds, 5000);
    if (world.shape.expert_count > 12) {
      continue;
    }
    ++compared;
    const std::int64_t largest = require_split(world);
    const RealLoadMatrix load = world.load();
    const double best = test::best_split({load.data(), world.counts.size()}, world.placement);
    REQUIRE(largest == std::llround(std::ceil(best - 1e-6)));
  }
  CHECK(compared > 200);
}

TEST_CASE("the shares of every expert sum to everything, learnt ones too") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int index = 0; index < 300; ++index) {
    CAPTURE(index);
    const World world = World::draw(worlds, 1000);
    const double stiffness = worlds.between(0, 30) / 10.0;
    for (const LayerShares& shares :
         {LayerShares::even(world.placement),
          learn_shares(world.load().row(0), world.placement, {.stiffness = stiffness})}) {
      const std::vector<std::uint16_t> units(shares.units().begin(), shares.units().end());
      REQUIRE(LayerShares::create(world.placement, units).has_value());
    }
  }
}

TEST_CASE("every row of every rank picks one replica of its own expert") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int index = 0; index < 100; ++index) {
    CAPTURE(index);
    const World world = World::draw(worlds, 1000);
    const LayerMap map =
        LayerMap::from(world.placement, learn_shares(world.load().row(0), world.placement,
                                                     {.stiffness = worlds.between(0, 2) * 1.0}));
    for (std::uint32_t row = 0; row < 300; ++row) {
      const ReplicaKey key{
          .row = row,
          .rank = static_cast<std::uint32_t>(worlds.between(0, 1023)),
          .layer = static_cast<std::uint32_t>(worlds.between(0, 91)),
          .expert = static_cast<std::uint32_t>(worlds.between(0, world.shape.expert_count - 1))};
      const LogicalExpertId expert{static_cast<std::int32_t>(key.expert)};
      const ReplicaIndex replica = map.replica(ReplicaChoice::kShares, key);
      REQUIRE(replica.value >= 0);
      REQUIRE(replica.value < map.replica_count(expert));
      REQUIRE(world.placement.occupant(map.slot(expert, replica)) == expert);
    }
  }
}

// The filling is a descent, so more of it never makes the busiest rank busier; its end is the
// smallest sum of squares, where the largest rank load is least too.
TEST_CASE("shares without stiffness reach the bound of the load that they learn") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int index = 0; index < 300; ++index) {
    CAPTURE(index);
    const World world = World::draw(worlds, 5000);
    const RealLoadMatrix load = world.load();
    if (load.sum() == 0) {
      continue;
    }
    Shape one_layer = world.shape;
    one_layer.layer_count = 1;
    const Placement placed = Placement::create(one_layer, {world.placement}).value();
    const std::vector<LayerShares> shares{
        learn_shares(load.row(0), world.placement, {.stiffness = 0})};
    const double largest = rank_loads(placed, load, shares).maxCoeff();
    const double bound = placement::layer_bound_split(load.row(0), world.placement).value();
    REQUIRE(largest >= bound * (1 - 1e-3));
    REQUIRE(largest <= bound * 1.01 + 1);
  }
}

}  // namespace
}  // namespace eplb
