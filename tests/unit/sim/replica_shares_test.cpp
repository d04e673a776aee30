// Goal: the simulator serves by learnt shares and by the exact split, and keeps every token.
// Method: the small scenario under each choice with the same random numbers; dealt slots against
// shares, worked by hand without noise and by their mean with it.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "eplb/sim/simulation.hpp"
#include "eplb/sim/workload.hpp"
#include "fixed_policy.hpp"
#include "function_policy.hpp"
#include "placements.hpp"
#include "scenarios.hpp"
#include "simple_policies.hpp"

namespace eplb::sim {
namespace {

constexpr Shape kShape{
    .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 2};

/// Expert 0 in slots 0, 2 and 3 with 1/2, 3/10 and 1/5 of its tokens; expert 1 in slot 1.
LayerMap shared_map() {
  const LayerPlacement placement = test::layer_placement(kShape, {0, 1, 0, 0});
  return LayerMap::from(placement,
                        LayerShares::nearest(placement, std::vector<double>{5, 1, 3, 2}));
}

TEST_CASE("without noise an expert's tokens fall on its slots by the shares, to the nearest") {
  ReplicaDealer dealer({.choice = ReplicaChoice::kShares,
                        .rows_per_rank = 50,
                        .rank_count = 2,
                        .noise = Noise::kNone});
  std::vector<std::int64_t> slots(4);
  dealer.deal(std::vector<std::int64_t>{100, 7}, shared_map(), slots);
  CHECK(slots == std::vector<std::int64_t>{50, 7, 30, 20});
  dealer.deal(std::vector<std::int64_t>{3, 0}, shared_map(), slots);
  CHECK(std::accumulate(slots.begin(), slots.end(), std::int64_t{0}) == 3);
}

TEST_CASE("with noise every token stays, and the mean is the share") {
  ReplicaDealer dealer({.choice = ReplicaChoice::kShares,
                        .rows_per_rank = 500,
                        .rank_count = 2,
                        .noise = Noise::kMultinomial,
                        .seed = 5});
  std::vector<double> sums(4, 0.0);
  constexpr int kDeals = 400;
  for (int deal = 0; deal < kDeals; ++deal) {
    std::vector<std::int64_t> slots(4);
    dealer.deal(std::vector<std::int64_t>{200, 9}, shared_map(), slots);
    REQUIRE(slots[0] + slots[2] + slots[3] == 200);
    REQUIRE(slots[1] == 9);
    for (std::size_t slot = 0; slot < 4; ++slot) {
      REQUIRE(slots[slot] >= 0);
      sums[slot] += static_cast<double>(slots[slot]) / kDeals;
    }
  }
  CHECK(sums[0] == doctest::Approx(100).epsilon(0.02));
  CHECK(sums[2] == doctest::Approx(60).epsilon(0.02));
  CHECK(sums[3] == doctest::Approx(40).epsilon(0.02));
}

Scenario with_choice(ReplicaChoice choice) {
  Scenario scenario = test::small_scenario();
  scenario.eplb.replica_choice = choice;
  // Two ranks of experts 0 to 9 and 10 to 15, with copies of 0 to 3 on the second one.
  scenario.parallel = {.ranks = 2, .ranks_per_node = 2};
  scenario.run.steps = 300;
  return scenario;
}

// What the placement is does not matter here, so it stays the initial one: only shares change.
SimulationResult run_with(ReplicaChoice choice) {
  const Scenario scenario = with_choice(choice);
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  return simulate(scenario, test::FixedPolicy(Placement::initial(shape)), {}).value();
}

TEST_CASE("under a lasting skew learnt shares beat the even split, and the exact one both") {
  const SimulationResult salted = run_with(ReplicaChoice::kSalted);
  const SimulationResult shares = run_with(ReplicaChoice::kShares);
  const SimulationResult exact = run_with(ReplicaChoice::kExact);
  CHECK_FALSE(salted.balancedness.exact_split.has_value());
  CHECK(salted.rearrangements.empty());
  REQUIRE(shares.balancedness.after.has_value());
  CHECK(*shares.balancedness.after > *shares.balancedness.before + 0.005);
  CHECK(shares.balancedness.mean > salted.balancedness.mean);
  CHECK(exact.balancedness.mean > shares.balancedness.mean);
  CHECK(*exact.balancedness.exact_split == doctest::Approx(exact.balancedness.mean));
  // The same random numbers, the same placement: the same bound.
  CHECK(*shares.balancedness.exact_split == doctest::Approx(*exact.balancedness.exact_split));
  CHECK(*exact.balancedness.exact_split <= 1);
  for (const RearrangementReport& report : shares.rearrangements) {
    CHECK(report.rearrangement.moved_bytes == 0);
    CHECK(report.rearrangement.committed_layers > 0);
  }
  CHECK(shares.throughput_tokens_per_s > 0.99 * salted.throughput_tokens_per_s);
}

TEST_CASE("thresholds are counted with the maps") {
  const Scenario scenario = with_choice(ReplicaChoice::kShares);
  constexpr std::int64_t kEntries = std::int64_t{4} * 16 * 5;  // Layers, experts, R + 1.
  CHECK(run_with(ReplicaChoice::kShares).memory.maps_bytes ==
        run_with(ReplicaChoice::kSalted).memory.maps_bytes + 2 * kEntries);
}

TEST_CASE("a run by shares is the same run again, async and sync") {
  Scenario scenario = with_choice(ReplicaChoice::kShares);
  const auto digest = [&] {
    return simulate(scenario, test::rotating_policy(), {}).value().digest;
  };
  CHECK(digest() == digest());
  scenario.eplb.use_async = false;
  CHECK(digest() == digest());
}

TEST_CASE("shares are forgotten where the group changes its size, and learnt again") {
  Scenario scenario = with_choice(ReplicaChoice::kShares);
  scenario.parallel = {.ranks = 4, .ranks_per_node = 2};
  scenario.parallel.scale = {{.at_step = 60, .ranks = 6}, {.at_step = 130, .ranks = 4}};
  const auto result = simulate(scenario, test::InitialPolicy(), {});
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  CHECK(result->steps == 300);
  CHECK(result->rearrangements.size() > 2);
  CHECK(*result->balancedness.exact_split >= result->balancedness.mean - 1e-12);
}

}  // namespace
}  // namespace eplb::sim
