// Goal: where ranks take the nearest replicas, each NVLink domain's picks stay in it if they can,
// no token is lost, and what leaves is counted. Method: dealt slots worked by hand without noise,
// by their mean with it; the small scenario under both choices.
#include "eplb/sim/nearest_dealer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "eplb/sim/simulation.hpp"
#include "placements.hpp"
#include "print_vector.hpp"
#include "scenarios.hpp"
#include "simple_policies.hpp"

namespace eplb::sim {
namespace {

// Ranks of two slots, two to a domain: [0 1 | 2 0 || 3 2 | 0 3].
constexpr Shape kShape{
    .layer_count = 1, .expert_count = 4, .redundant_slot_count = 4, .rank_count = 4};

Topology two_domains() {
  return Topology::create({.rank_count = 4, .ranks_per_node = 2, .ranks_per_domain = 2}).value();
}

struct Dealt {
  explicit Dealt(Noise noise)
      : dealer({.topology = two_domains(),
                .slots_per_rank = 2,
                .dealer = {.choice = ReplicaChoice::kNearest,
                           .rows_per_rank = 40,
                           .rank_count = 4,
                           .noise = noise,
                           .seed = 3}}) {}

  void deal(const std::vector<std::int64_t>& counts) {
    const std::vector<const LayerMap*> domain_maps{&first, &second};
    dealer.deal(counts, domain_maps, slots);
  }

  LayerPlacement placement = test::layer_placement(kShape, {0, 1, 2, 0, 3, 2, 0, 3});
  LayerMap first = LayerMap::nearest(placement, two_domains(), DomainId{0});
  LayerMap second = LayerMap::nearest(placement, two_domains(), DomainId{1});
  NearestDealer dealer;
  std::vector<std::int64_t> slots = std::vector<std::int64_t>(8);
};

TEST_CASE("without noise picks fall as the domains' rows and maps say") {
  Dealt dealt(Noise::kNone);
  dealt.deal({80, 8, 16, 32});
  CHECK(dealt.slots == std::vector<std::int64_t>{20, 8, 8, 20, 16, 8, 40, 16});
  // Expert 1's four from the second domain come to rank 0, expert 3's 16 from the first to ranks 2
  // and 3; ranks of a domain send alike.
  CHECK(dealt.dealer.network_rows(RankId{0}).arriving == 4);
  CHECK(dealt.dealer.network_rows(RankId{1}).arriving == 0);
  CHECK(dealt.dealer.network_rows(RankId{2}).arriving == 8);
  CHECK(dealt.dealer.network_rows(RankId{3}).arriving == 8);
  CHECK(dealt.dealer.network_rows(RankId{0}).sent == 8);
  CHECK(dealt.dealer.network_rows(RankId{3}).sent == 2);
  CHECK(dealt.dealer.network_row_count() == 20);
}

TEST_CASE("a domain that brings more rows picks more") {
  Dealt dealt(Noise::kNone);
  dealt.dealer.set_rows(std::vector<std::int64_t>{60, 60, 30, 10});
  dealt.deal({80, 0, 0, 0});
  CHECK(dealt.slots == std::vector<std::int64_t>{30, 0, 0, 30, 0, 0, 20, 0});
  dealt.deal({0, 40, 0, 0});
  CHECK(dealt.dealer.network_row_count() == 10);
  CHECK(dealt.dealer.network_rows(RankId{2}).sent == 7.5);
  CHECK(dealt.dealer.network_rows(RankId{3}).sent == 2.5);
}

TEST_CASE("with noise every token stays, and the mean is what is expected") {
  Dealt dealt(Noise::kMultinomial);
  constexpr int kDeals = 400;
  std::vector<double> sums(8, 0.0);
  for (int deal = 0; deal < kDeals; ++deal) {
    dealt.deal({80, 8, 16, 32});
    REQUIRE(dealt.slots[0] + dealt.slots[3] + dealt.slots[6] == 80);
    REQUIRE(dealt.slots[1] == 8);
    REQUIRE(dealt.slots[2] + dealt.slots[5] == 16);
    REQUIRE(dealt.slots[4] + dealt.slots[7] == 32);
    for (std::size_t slot = 0; slot < 8; ++slot) {
      REQUIRE(dealt.slots[slot] >= 0);
      sums[slot] += static_cast<double>(dealt.slots[slot]) / kDeals;
    }
  }
  CHECK(sums[0] == doctest::Approx(20).epsilon(0.03));
  CHECK(sums[6] == doctest::Approx(40).epsilon(0.03));
  CHECK(sums[2] == doctest::Approx(8).epsilon(0.05));
}

/// Four ranks, each a domain of its own, of experts 0 to 15 and copies of 0 to 3 on rank 3.
Scenario with_choice(ReplicaChoice choice) {
  Scenario scenario = test::small_scenario();
  scenario.eplb.replica_choice = choice;
  scenario.hardware.gpus_per_node = 1;
  scenario.hardware.gpus_per_domain = 1;
  scenario.parallel.ranks_per_node = 1;
  scenario.workload.routing = UniformRouting{};
  scenario.workload.noise = Noise::kNone;
  scenario.run.steps = 20;
  return scenario;
}

SimulationResult run_with(const Scenario& scenario) {
  const test::InitialPolicy keep;
  return simulate(scenario, keep, {}).value();
}

TEST_CASE("the simulator serves by the nearest replicas from the first forward on") {
  const SimulationResult salted = run_with(with_choice(ReplicaChoice::kSalted));
  const SimulationResult nearest = run_with(with_choice(ReplicaChoice::kNearest));
  REQUIRE(salted.network_share.has_value());
  CHECK(*salted.network_share == doctest::Approx(0.75));
  // Ranks 0 to 3 hold experts 0-4, 5-9, 10-14 and 15, 0-3: 20 of 64 pairs of an expert and a rank
  // are at home, 16 by first copies and 4 by second ones.
  REQUIRE(nearest.network_share.has_value());
  CHECK(*nearest.network_share == doctest::Approx(44.0 / 64));
  // Experts 0 to 3 give half of two ranks' rows each to either copy, and the rank's own stay: even.
  CHECK(nearest.balancedness.mean == doctest::Approx(salted.balancedness.mean).epsilon(0.01));
  CHECK(nearest.breakdown.mega_moe_ms < salted.breakdown.mega_moe_ms);
}

TEST_CASE("in one NVLink domain the nearest choice is the salted one, token for token") {
  Scenario salted = with_choice(ReplicaChoice::kSalted);
  Scenario nearest = with_choice(ReplicaChoice::kNearest);
  for (Scenario* scenario : {&salted, &nearest}) {
    scenario->hardware.gpus_per_node = 4;
    scenario->hardware.gpus_per_domain = 4;
    scenario->parallel.ranks_per_node = 4;
  }
  const SimulationResult with_salt = run_with(salted);
  const SimulationResult with_nearest = run_with(nearest);
  CHECK(with_nearest.balancedness.mean == with_salt.balancedness.mean);
  CHECK(with_nearest.breakdown.mega_moe_ms == doctest::Approx(with_salt.breakdown.mega_moe_ms));
  CHECK_FALSE(with_nearest.network_share.has_value());
}

}  // namespace
}  // namespace eplb::sim
