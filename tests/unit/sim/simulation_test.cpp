// Goal: a run is a pure function of its scenario, its steps add up, and EPLB acts on it as it
// should. Method: the small scenario with a policy whose answer is known, values worked by hand
// where the load is uniform and without noise.
#include "eplb/sim/simulation.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "fixed_policy.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

/// The initial placement with its ranks in reverse: every expert moves, nothing is balanced.
test::FixedPolicy reversing_policy(const Scenario& scenario) {
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  std::vector<std::int32_t> occupants;
  for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
    const std::int32_t rank = slot / shape.slots_per_rank();
    const std::int32_t source =
        (shape.rank_count - 1 - rank) * shape.slots_per_rank() + slot % shape.slots_per_rank();
    occupants.push_back(source % shape.expert_count);
  }
  return test::FixedPolicy(test::placement_of(shape, occupants));
}

/// Every expert gets the same tokens in every step.
Scenario even_scenario() {
  Scenario scenario = test::small_scenario();
  scenario.workload = {.routing = UniformRouting{}, .drift = NoDrift{}, .noise = Noise::kNone};
  return scenario;
}

TEST_CASE("without EPLB and without noise a step takes the time worked by hand") {
  const Scenario scenario = without_eplb(even_scenario());
  const auto policy = reversing_policy(scenario);
  const SimulationResult result = simulate(scenario, policy, {}).value();
  // 512 tokens x 2 picks over 16 experts: 64 rows each, one block of 96, 4 experts a rank.
  // Weights 4 x 6 us, arithmetic 384 x 120 ns, wire 256 x (3.75 + 3.75) ns; start 10 us; 4 layers.
  const double overlapped_us =
      std::pow(std::pow(24, 8) + std::pow(46.08, 8) + std::pow(1.92, 8), 0.125);
  const double layers_ms = 4 * (0.010 + overlapped_us * 1e-3);
  CHECK(result.breakdown.mega_moe_ms == doctest::Approx(layers_ms));
  CHECK(result.breakdown.others_ms == doctest::Approx(0.5 + 64 * 0.01));
  CHECK(result.step.mean_ms == doctest::Approx(layers_ms + 1.14));
  CHECK(result.step.p99_ms == doctest::Approx(result.step.p50_ms));
  CHECK(result.steps == 200);
  CHECK(result.balancedness.mean == doctest::Approx(1.0));
  CHECK_FALSE(result.balancedness.after.has_value());
  CHECK(result.throughput_tokens_per_s ==
        doctest::Approx(4 * 64 * 1.5 / (result.step.mean_ms * 1e-3)));
  CHECK(policy.call_count() == 0);
  CHECK(result.memory.redundant_bytes == 0);
}

TEST_CASE("the first rearrangement starts after a quarter of the interval, then one an interval") {
  const Scenario scenario = even_scenario();
  const auto policy = reversing_policy(scenario);
  const SimulationResult result = simulate(scenario, policy, {}).value();
  // Steps 9, 49, 89, 129, 169 end with the counter at 40; the policy answers the same each time, so
  // only the first one moves anything and is reported.
  CHECK(policy.call_count() == 5);
  REQUIRE(result.rearrangements.size() == 1);
  const Rearrangement& first = result.rearrangements[0].rearrangement;
  CHECK(first.start_step == 9);
  CHECK(first.committed_layers == 4);
  CHECK(first.moved_experts > 0);
  CHECK(first.moved_bytes == first.moved_experts * 6'000'000);
  CHECK(result.aborted_rearrangement_count == 0);
  // 20 slots in all, 5 a rank, 4 layers of 6 MB experts.
  CHECK(result.memory.weights_bytes == 5LL * 4 * 6'000'000);
  CHECK(result.memory.redundant_bytes == 4LL * 6'000'000);
  CHECK(result.memory.landing_bytes == 5LL * 6'000'000);
  CHECK(result.memory.maps_bytes == 4LL * 16 * 6 * 4);
}

TEST_CASE("a policy that changes its mind has every rearrangement reported") {
  const SimulationResult result = simulate(even_scenario(), test::rotating_policy(), {}).value();
  REQUIRE(result.rearrangements.size() == 5);
  for (std::size_t index = 0; index < 5; ++index) {
    CHECK(result.rearrangements[index].rearrangement.start_step ==
          9 + 40 * static_cast<std::int64_t>(index));
  }
}

TEST_CASE("the window that a policy sees holds exactly the recorded steps") {
  const Scenario scenario = even_scenario();
  const auto policy = reversing_policy(scenario);
  REQUIRE(simulate(scenario, policy, {}).has_value());
  // 64 tokens an expert and step; the window holds 20 steps and the gate opens 20 steps before the
  // trigger, so the last one is full.
  CHECK(policy.last_window() == RealLoadMatrix::Constant(4, 16, 64 * 20));
  CHECK(policy.last_history_size() == 16);
}

TEST_CASE("async serves on while weights move, delayed by commits alone") {
  const Scenario scenario = even_scenario();
  const SimulationResult result = simulate(scenario, reversing_policy(scenario), {}).value();
  CHECK(result.hold_count == 0);
  CHECK(result.hold_ns == 0);
  // One landing pool of a layer's slots: each layer commits in a step of its own.
  CHECK(result.commit_count == 4);
  // Five rows of 12 us and a map of 2 us.
  CHECK(result.commit_ns == 4 * (5 * 12'000 + 2'000));
  // Forwards lose a little where commits and transfers fill the memory.
  CHECK(result.slowed_ns > 0);
  CHECK(result.slowed_ns < result.simulated_ns / 500);
  CHECK(result.breakdown.eplb_ms ==
        doctest::Approx(4 * 0.062 / 200 + static_cast<double>(result.slowed_ns) * 1e-6 / 200));
}

TEST_CASE("sync holds for every rearrangement, and says how long") {
  Scenario scenario = even_scenario();
  const SimulationResult async = simulate(scenario, reversing_policy(scenario), {}).value();
  scenario.eplb.use_async = false;
  const SimulationResult sync = simulate(scenario, reversing_policy(scenario), {}).value();
  CHECK(sync.hold_count == 5);
  REQUIRE(sync.rearrangements.size() == 1);
  const RearrangementReport& first = sync.rearrangements[0];
  CHECK(first.rearrangement.start_step == 9);
  CHECK(first.rearrangement.end_step == 9);
  // The plan takes 25 us a layer, in each of the five holds.
  CHECK(first.rearrangement.end_ns - first.rearrangement.start_ns > 100'000 + first.wire_ns);
  CHECK(sync.hold_ns > 500'000 + first.wire_ns);
  CHECK(sync.commit_ns < async.commit_ns);
  CHECK(sync.slowed_ns == 0);
  CHECK(sync.simulated_ns - sync.hold_ns - sync.commit_ns ==
        async.simulated_ns - async.commit_ns - async.slowed_ns);
}

TEST_CASE("steps add up to the run") {
  const Scenario scenario = test::small_scenario();
  const SimulationResult result = simulate(scenario, reversing_policy(scenario), {}).value();
  CHECK(result.step.mean_ms * 200 * 1e6 ==
        doctest::Approx(static_cast<double>(result.simulated_ns)));
  CHECK(result.breakdown.mega_moe_ms + result.breakdown.others_ms + result.breakdown.eplb_ms ==
        doctest::Approx(result.step.mean_ms));
}

TEST_CASE("one scenario gives one digest, and another seed another one") {
  Scenario scenario = test::small_scenario();
  const auto digest = [&] {
    return simulate(scenario, reversing_policy(scenario), {}).value().digest;
  };
  const std::uint64_t first = digest();
  CHECK(digest() == first);
  scenario.run.seed = 8;
  CHECK(digest() != first);
}

TEST_CASE("a policy that fails ends the run with its reason") {
  const Scenario scenario = test::small_scenario();
  const test::FixedPolicy policy(fail(ErrorCode::kInvalidArgument, "no such shape"));
  const auto result = simulate(scenario, policy, {});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "no such shape");
}

TEST_CASE("an illegal shape is refused") {
  Scenario scenario = test::small_scenario();
  scenario.eplb.num_redundant_experts = 3;
  const auto result = simulate(scenario, test::FixedPolicy(fail(ErrorCode::kInternal, "")), {});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace eplb::sim
