// Goal: load is conserved on the way from picks to experts to slots to ranks, and its noise is that
// of the multinomial. Method: every kind of routing, sums and moments over many steps.
#include "eplb/sim/workload.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "eplb/sim/largest_remainder.hpp"
#include "scenarios.hpp"
#include "seed.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kTokens = 512;

/// Counts without a pattern that an expert or a layer could hide behind.
RealLoadMatrix some_counts(double factor) {
  RealLoadMatrix counts(4, 16);
  for (Eigen::Index i = 0; i < counts.size(); ++i) {
    counts.data()[i] = std::fmod(static_cast<double>(i + 1) * factor, 97.0);
  }
  return counts;
}

DomainsRouting two_domains() {
  DomainsRouting domains;
  domains.domains = {{.name = "a", .counts = some_counts(31)},
                     {.name = "b", .counts = some_counts(57)}};
  domains.schedule = {{.steps = 7, .shares = {1, 0}}, {.steps = 9, .shares = {0.2, 0.8}}};
  return domains;
}

std::vector<WorkloadOptions> all_workloads() {
  const CountsRouting counts{.file = "", .windows = {some_counts(43)}, .steps_per_window = 10};
  RealLoadMatrix one_hot = RealLoadMatrix::Zero(4, 16);
  one_hot.col(3).setOnes();
  const CountsRouting extreme{.file = "", .windows = {one_hot}, .steps_per_window = 10};
  const std::vector<RoutingOptions> routings{
      UniformRouting{}, ZipfRouting{}, LognormalRouting{}, PowerLawRouting{}, counts,
      two_domains(),    extreme};
  const std::vector<DriftOptions> drifts{NoDrift{}, WalkDrift{.correlation_steps = 20},
                                         SwitchDrift{.every_steps = 5},
                                         BurstDrift{.every_steps = 6, .duration_steps = 2}};
  std::vector<WorkloadOptions> workloads;
  for (const RoutingOptions& routing : routings) {
    for (const DriftOptions& drift : drifts) {
      for (const Noise noise : {Noise::kNone, Noise::kMultinomial}) {
        workloads.push_back({.routing = routing, .drift = drift, .noise = noise});
      }
    }
  }
  return workloads;
}

TEST_CASE("in every layer and step the experts' counts sum to tokens x top-k") {
  const ModelOptions model = test::small_scenario().model;
  for (const WorkloadOptions& options : all_workloads()) {
    CAPTURE(options.routing.index());
    CAPTURE(options.drift.index());
    Workload workload(model, options, kTokens, test::run_seed());
    for (std::int64_t step = 0; step < 30; ++step) {
      const LoadMatrix& counts = workload.counts_at(step);
      for (Eigen::Index layer = 0; layer < counts.rows(); ++layer) {
        REQUIRE(counts.row(layer).sum() == kTokens * model.top_k);
        REQUIRE(counts.row(layer).minCoeff() >= 0);
        REQUIRE(counts.row(layer).maxCoeff() <= kTokens);
      }
    }
  }
}

TEST_CASE("dealing to replicas keeps every expert's tokens, and the ranks' sums are printed") {
  const Shape shape{
      .layer_count = 1, .expert_count = 16, .redundant_slot_count = 8, .rank_count = 4};
  const LayerMap map = LayerMap::from(LayerPlacement::initial(shape));
  for (const ReplicaChoice choice : {ReplicaChoice::kHash, ReplicaChoice::kSalted}) {
    for (const Noise noise : {Noise::kNone, Noise::kMultinomial}) {
      Workload workload(test::small_scenario().model, {.routing = ZipfRouting{}, .noise = noise},
                        kTokens, test::run_seed());
      ReplicaDealer dealer({.choice = choice,
                            .rows_per_rank = 128,
                            .rank_count = 4,
                            .noise = noise,
                            .seed = test::run_seed()});
      std::vector<std::int64_t> slots(24);
      const LoadMatrix& counts = workload.counts_at(0);
      dealer.deal({counts.row(0).data(), 16}, map, slots);
      std::string ranks;
      for (std::size_t rank = 0; rank < 4; ++rank) {
        const auto* first = slots.data() + rank * 6;
        ranks += " " + std::to_string(std::accumulate(first, first + 6, std::int64_t{0}));
      }
      MESSAGE("tokens of each rank:" << ranks);
      for (std::int32_t expert = 0; expert < 16; ++expert) {
        std::int64_t dealt = 0;
        for (const std::int32_t slot : map.slots(LogicalExpertId{expert})) {
          dealt += slots[static_cast<std::size_t>(slot)];
        }
        REQUIRE(dealt == counts(0, expert));
      }
    }
  }
}

TEST_CASE("counts have the mean and the variance of the multinomial") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  ModelOptions model = test::small_scenario().model;
  model.moe_layers = 1;
  const WorkloadOptions options{.routing = ZipfRouting{.exponent = 1}};
  Workload workload(model, options, 20000, seed);
  RoutingModel routing(model, options, seed);
  const RealLoadMatrix shares = routing.shares_at(0);
  constexpr int kSteps = 4000;
  RealLoadMatrix sum = RealLoadMatrix::Zero(1, 16);
  RealLoadMatrix squares = sum;
  for (int step = 0; step < kSteps; ++step) {
    const RealLoadMatrix counts = workload.counts_at(step).cast<double>();
    sum += counts;
    squares += counts.cwiseProduct(counts);
  }
  for (Eigen::Index expert = 0; expert < 16; ++expert) {
    CAPTURE(expert);
    const double mean = sum(0, expert) / kSteps;
    const double variance = squares(0, expert) / kSteps - mean * mean;
    const double expected = 40000 * shares(0, expert);
    const double expected_variance = expected * (1 - shares(0, expert));
    CHECK(std::abs(mean - expected) < 5 * std::sqrt(expected_variance / kSteps));
    CHECK(variance == doctest::Approx(expected_variance).epsilon(0.15));
  }
}

TEST_CASE("one row a rank: the published hash sends every token to replica 0") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 4};
  const LayerMap map = LayerMap::from(LayerPlacement::initial(shape));
  ReplicaDealer dealer({.choice = ReplicaChoice::kHash, .rows_per_rank = 1, .rank_count = 4});
  std::vector<std::int64_t> slots(4);
  const std::vector<std::int64_t> counts{4, 3};
  dealer.deal(counts, map, slots);
  CHECK(slots == std::vector<std::int64_t>{4, 3, 0, 0});
}

TEST_CASE("all rows picking one expert split it exactly as the hash does") {
  const Shape shape{
      .layer_count = 1, .expert_count = 1, .redundant_slot_count = 2, .rank_count = 3};
  const LayerMap map = LayerMap::from(LayerPlacement::initial(shape));
  ReplicaDealer dealer({.choice = ReplicaChoice::kHash, .rows_per_rank = 16, .rank_count = 3});
  std::vector<std::int64_t> slots(3);
  dealer.deal(std::vector<std::int64_t>{48}, map, slots);
  // Rows 0..15 with three replicas: 0,0,2,2,1,0,0,2,2,1,0,0,2,1,1,0, three ranks alike.
  CHECK(slots == std::vector<std::int64_t>{21, 12, 15});
}

TEST_CASE("largest remainder sums exactly and rounds to the nearest neighbours") {
  CHECK(largest_remainder(std::vector<double>{0.5, 0.25, 0.25}, 5) ==
        std::vector<std::int64_t>{3, 1, 1});
  CHECK(largest_remainder(std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3}, 10) ==
        std::vector<std::int64_t>{4, 3, 3});
  CHECK(largest_remainder(std::vector<double>{0, 1}, 0) == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("two workloads of one seed draw alike, and another seed differs") {
  const sim::Scenario scenario = test::small_scenario();
  Workload a(scenario.model, scenario.workload, kTokens, 9);
  Workload b(scenario.model, scenario.workload, kTokens, 9);
  Workload c(scenario.model, scenario.workload, kTokens, 10);
  const LoadMatrix first = a.counts_at(0);
  CHECK(first == b.counts_at(0));
  CHECK(first != c.counts_at(0));
}

}  // namespace
}  // namespace eplb::sim
