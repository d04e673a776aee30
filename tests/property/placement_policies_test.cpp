// Goal: what holds for every policy and every load: it is deterministic, blind to the unit of load,
// keeps groups on their nodes, and slot preservation never changes what a rank holds.
// Method: seeded random worlds of up to 12 ranks and 36 experts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "placement_worlds.hpp"
#include "plan.hpp"
#include "seed.hpp"

namespace eplb::test {
namespace {

constexpr std::uint64_t kWorldCount = 100;

PlanRequest request_of(const PlacementWorld& world, std::string_view policy) {
  return {.policy = policy, .shape = world.shape, .node_count = world.node_count};
}

std::vector<std::int32_t> sorted_on_rank(const LayerPlacement& layer, std::int32_t rank) {
  std::vector<std::int32_t> held = numbers_of(layer.on_rank(RankId{rank}));
  std::ranges::sort(held);
  return held;
}

TEST_CASE("a policy asked twice answers the same") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    const PlacementWorld world(seed);
    for (const std::string_view policy : placement::policy_names()) {
      CAPTURE(policy);
      REQUIRE(plan(request_of(world, policy), world.load) ==
              plan(request_of(world, policy), PlacementWorld(seed).load));
    }
  }
}

TEST_CASE("robust and frugal put no expert twice on a rank that has not room for all") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    PlacementWorld world(seed);
    if (world.shape.slots_per_rank() > world.shape.expert_count) {
      continue;
    }
    const Placement current = plan(request_of(world, "default"), world.draw_load());
    for (const std::string_view policy : {"robust", "frugal"}) {
      CAPTURE(policy);
      PlanRequest request = request_of(world, policy);
      REQUIRE(duplicate_count(plan(request, world.load)) == 0);
      request.current = &current;
      REQUIRE(duplicate_count(plan(request, world.load)) == 0);
    }
  }
}

TEST_CASE("a load scaled by a power of two is placed alike") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    PlacementWorld world(seed);
    const double scale = std::ldexp(1.0, world.between(-40, 40));
    for (const std::string_view policy : placement::policy_names()) {
      CAPTURE(policy);
      REQUIRE(plan(request_of(world, policy), world.load) ==
              plan(request_of(world, policy), world.load * scale));
    }
  }
}

TEST_CASE("the hierarchical policies hold a group on one node") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    const PlacementWorld world(seed);
    if (world.shape.expert_group_count % world.node_count != 0) {
      continue;
    }
    const std::int32_t group_size = world.shape.expert_count / world.shape.expert_group_count;
    const std::int32_t node_slots = world.shape.slot_count() / world.node_count;
    for (const std::string_view policy : {"deepseek", "default"}) {
      CAPTURE(policy);
      const Placement placed = plan(request_of(world, policy), world.load);
      for (const LayerPlacement& layer : placed.layers()) {
        std::vector<std::int32_t> node_of_group(
            static_cast<std::size_t>(world.shape.expert_group_count), -1);
        for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
          std::int32_t& node = node_of_group[static_cast<std::size_t>(
              layer.occupant(SlotId{slot}).value / group_size)];
          node = node == -1 ? slot / node_slots : node;
          REQUIRE(node == slot / node_slots);
        }
      }
    }
  }
}

TEST_CASE("slot preservation keeps each rank's experts and pins all that stay") {
  for (std::uint64_t seed = run_seed(); seed < run_seed() + kWorldCount; ++seed) {
    INFO(replay_hint(seed));
    PlacementWorld world(seed);
    PlanRequest request = request_of(world, "default");
    const Placement current = plan(request, world.draw_load());
    const Placement fresh = plan(request, world.load);
    request.current = &current;
    const Placement kept = plan(request, world.load);
    for (std::size_t index = 0; index < kept.layers().size(); ++index) {
      const LayerPlacement& layer = kept.layers()[index];
      for (std::int32_t rank = 0; rank < world.shape.rank_count; ++rank) {
        const std::vector<std::int32_t> after = sorted_on_rank(layer, rank);
        REQUIRE(after == sorted_on_rank(fresh.layers()[index], rank));
        const std::vector<std::int32_t> before = sorted_on_rank(current.layers()[index], rank);
        std::vector<std::int32_t> staying;
        std::ranges::set_intersection(before, after, std::back_inserter(staying));
        std::ptrdiff_t same_slots = 0;
        for (std::int32_t local = 0; local < layer.slots_per_rank(); ++local) {
          const SlotId slot{layer.first_slot(RankId{rank}).value + local};
          same_slots += layer.occupant(slot) == current.layers()[index].occupant(slot) ? 1 : 0;
        }
        REQUIRE(same_slots == std::ssize(staying));
      }
    }
  }
}

}  // namespace
}  // namespace eplb::test
