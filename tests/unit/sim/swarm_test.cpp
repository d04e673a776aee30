// Goal: seeds draw legal worlds, with every kind of fault in some of them and none that hides
// another. Method: the worlds of 2000 seeds, counted.
#include "eplb/sim/trial/swarm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/env/fault_points.hpp"

namespace eplb::sim {
namespace {

constexpr std::uint64_t kSeeds = 2000;

std::vector<Swarm> worlds() {
  std::vector<Swarm> swarms;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    swarms.push_back(draw_swarm(seed));
  }
  return swarms;
}

int fatal_faults(const Swarm& swarm) {
  int count = 0;
  for (const auto& event :
       {swarm.stalled_host, swarm.dead_helper, swarm.failed_commit, swarm.lost_rank}) {
    count += event.has_value() ? 1 : 0;
  }
  return count + (swarm.refused_memory.has_value() ? 1 : 0);
}

TEST_CASE("a seed is a world: drawn twice it is the same, another one is another") {
  CHECK(describe(draw_swarm(17)) == describe(draw_swarm(17)));
  CHECK(describe(draw_swarm(17)) != describe(draw_swarm(18)));
}

TEST_CASE("every world is legal") {
  for (const Swarm& swarm : worlds()) {
    CAPTURE(swarm.seed);
    const Shape& shape = swarm.shape;
    const EplbOptions& eplb = swarm.eplb;
    CHECK(validate(shape).has_value());
    CHECK(shape.rank_count >= 2);
    CHECK(eplb.num_redundant_experts == shape.redundant_slot_count);
    CHECK(swarm.row_bytes.size() == static_cast<std::size_t>(shape.layer_count));
    CHECK(eplb.window_parts <= eplb.window_size);
    CHECK(eplb.history_parts >= eplb.window_parts);
    CHECK(eplb.landing_rows.value_or(shape.slots_per_rank()) >= shape.slots_per_rank());
    CHECK(fatal_faults(swarm) <= 1);
    CHECK((fatal_faults(swarm) == 1) == swarm.may_end());
    const bool barriers = eplb.handshake == Handshake::kBarriers;
    CHECK((!barriers || eplb.communicator == Communicator::kSymmMem));
    CHECK((swarm.sizes.empty() || eplb.communicator != Communicator::kSymmMem));
    CHECK(std::ranges::is_sorted(swarm.sizes, {}, &SizeChange::step));
    for (const SizeChange& size : swarm.sizes) {
      CHECK(size.ranks * shape.slots_per_rank() >= shape.expert_count);
      CHECK(size.ranks >= 2);
    }
  }
}

/// What a world has, of all that worlds can have.
std::vector<std::pair<std::string, bool>> kinds_of(const Swarm& swarm) {
  std::vector<std::pair<std::string, bool>> kinds{
      {"push", swarm.transport.side == env::TransferSide::kSender},
      {"pull", swarm.transport.side == env::TransferSide::kReceiver},
      {"pair", swarm.transport.side == env::TransferSide::kBoth},
      {"barriers", swarm.eplb.handshake == Handshake::kBarriers},
      {"sync", !swarm.eplb.use_async},
      {"raise", swarm.eplb.on_failure == OnFailure::kRaise},
      {"no layers", swarm.shape.layer_count == 0},
      {"trigger", swarm.eplb.trigger.has_value()},
      {"cool-down", swarm.eplb.trigger && swarm.eplb.trigger->cool_down > 0},
      {"stale window", swarm.eplb.step_interval < swarm.eplb.window_size},
      {"scale", !swarm.sizes.empty()},
      {"sleep", swarm.sleep_step.has_value()},
      {"dummy", swarm.dummy.value > 0},
      {"repeated", swarm.repeated_message.value > 0},
      {"failed transfer", swarm.failed_transfer.value > 0},
      {"refused transfer", swarm.refused_transfer.value > 0},
      {"slow link", swarm.slow_links > 0},
      {"stalled host", swarm.stalled_host.has_value()},
      {"dead helper", swarm.dead_helper.has_value()},
      {"failed commit", swarm.failed_commit.has_value()},
      {"lost rank", swarm.lost_rank.has_value()},
      {"refused plan", swarm.refused_plan.has_value()},
      {"different plan", swarm.different_plan.has_value()},
      {"refused memory", swarm.refused_memory.has_value()},
  };
  for (unsigned point = 0; point < env::kFaultPointCount; ++point) {
    kinds.emplace_back("fault point " + std::to_string(point),
                       ((swarm.fault_points >> point) & 1U) != 0);
  }
  return kinds;
}

/// How many worlds have each kind of thing.
std::map<std::string, int> kinds_in(const std::vector<Swarm>& swarms) {
  std::map<std::string, int> kinds;
  for (const Swarm& swarm : swarms) {
    for (const auto& [kind, has] : kinds_of(swarm)) {
      kinds[kind] += has ? 1 : 0;
    }
  }
  return kinds;
}

TEST_CASE("every kind of fault and mode is in some worlds, and none in most") {
  for (const auto& entry : kinds_in(worlds())) {
    CAPTURE(entry.first);
    CHECK(entry.second >= 20);
    CHECK(entry.second <= 1200);
  }
}

TEST_CASE("one world of six is calm, and one with a fault is not") {
  const std::vector<Swarm> swarms = worlds();
  const auto calm = std::ranges::count_if(swarms, &Swarm::calm);
  CHECK(calm > 280);
  CHECK(calm < 400);
  Swarm swarm = *std::ranges::find_if(swarms, &Swarm::calm);
  CHECK_FALSE(swarm.may_end());
  swarm.lost_rank = RankEvent{};
  CHECK(swarm.may_end());
  CHECK_FALSE(swarm.calm());
  swarm.lost_rank.reset();
  swarm.refused_plan = RankEvent{};
  CHECK_FALSE(swarm.may_end());
  CHECK_FALSE(swarm.calm());
}

TEST_CASE("a description names what is special about its world") {
  Swarm swarm = draw_swarm(1);
  swarm.shape = {.layer_count = 3, .expert_count = 7, .redundant_slot_count = 1, .rank_count = 4};
  swarm.sizes = {{.step = 12, .ranks = 5}};
  swarm.sleep_step = 30;
  swarm.lost_rank = RankEvent{.rank = 2, .step = 40};
  swarm.refused_memory = 3;
  swarm.fault_points = 0b101;
  swarm.message = {.least_ns = 1000, .most_ns = 5000, .tail_ns = 9000, .tail = {.value = 7}};
  const std::string text = describe(swarm);
  for (const char* line :
       {"  group: 3 layers of 7 + 1 experts on 4 ranks\n", "  scale: to 5 ranks after step 12\n",
        "  sleep: after step 30\n", "  lost rank: rank 2 at 40\n", "  refused memory: rank 3\n",
        "  fault points: 000101\n", "  message: 1 to 5 us, 7 of 1000 up to 9 us\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace eplb::sim
