// Goal: a serving step pays for prompts, for ranks that come late, for the host between forwards,
// and for EPLB's own kernels and all-reduce. Method: the small scenario without noise, one thing
// changed at a time, differences worked by hand.
#include <doctest/doctest.h>

#include "eplb/sim/cluster/host_collectives.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/simulation.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

Scenario even_scenario() {
  Scenario scenario = test::small_scenario();
  scenario.workload = {.routing = UniformRouting{}, .drift = NoDrift{}, .noise = Noise::kNone};
  scenario.eplb.communicator = Communicator::kSymmMem;
  return scenario;
}

SimulationResult run(const Scenario& scenario) {
  // The same placement again, so that nothing ever moves.
  const test::FunctionPolicy policy(
      [](const PolicyProblem& problem) { return Placement::initial(problem.shape); });
  const auto result = simulate(scenario, policy, {});
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return *result;
}

TEST_CASE("the host between two forwards keeps the device idle") {
  Scenario scenario = even_scenario();
  const double before_ms = run(scenario).step.mean_ms;
  scenario.serving.boundary_idle_ms = 0.25;
  const SimulationResult result = run(scenario);
  CHECK(result.step.mean_ms == doctest::Approx(before_ms + 0.25));
  CHECK(result.breakdown.idle_ms == doctest::Approx(0.25));
  CHECK(result.breakdown.eplb_ms == doctest::Approx(0));
}

TEST_CASE("the first expert layer waits for the last rank, and says so") {
  Scenario scenario = even_scenario();
  const SimulationResult alike = run(scenario);
  CHECK(alike.breakdown.arrival_ms == 0);
  scenario.serving.rank_imbalance = 0.5;
  const SimulationResult result = run(scenario);
  // The largest of 4 standard normal numbers is 1.029 on average, of 64 x 0.01 ms.
  CHECK(result.breakdown.arrival_ms == doctest::Approx(0.5 * 0.64 * 1.029).epsilon(0.1));
  CHECK(result.breakdown.mega_moe_ms ==
        doctest::Approx(alike.breakdown.mega_moe_ms + result.breakdown.arrival_ms));
  CHECK(result.step.mean_ms ==
        doctest::Approx(result.breakdown.mega_moe_ms + result.breakdown.others_ms));
}

TEST_CASE("prompts make the expert layers and the other kernels longer, not the throughput") {
  Scenario scenario = without_eplb(even_scenario());
  const SimulationResult decoding = run(scenario);
  scenario.serving.prefill_tokens_mean = 128;
  scenario.serving.other_kernels_per_prefill_token_ms = 0.002;
  const SimulationResult mixed = run(scenario);
  // As many rows again: 256 picks of 16 experts a rank become 512, in blocks of 128 not 96.
  CHECK(mixed.breakdown.others_ms == doctest::Approx(decoding.breakdown.others_ms + 0.256));
  CHECK(mixed.breakdown.mega_moe_ms > 1.2 * decoding.breakdown.mega_moe_ms);
  CHECK(mixed.throughput_tokens_per_s * mixed.step.mean_ms ==
        doctest::Approx(decoding.throughput_tokens_per_s * decoding.step.mean_ms));
}

TEST_CASE("steps before the end of the warm-up count in no mean") {
  Scenario scenario = even_scenario();
  scenario.workload.drift = SwitchDrift{.every_steps = 1000};
  const SimulationResult all = run(scenario);
  scenario.run.warmup_steps = 150;
  const SimulationResult rest = run(scenario);
  CHECK(all.steps == 200);
  CHECK(rest.steps == 50);
  CHECK(rest.step.mean_ms == doctest::Approx(all.step.mean_ms));
  CHECK(rest.simulated_ns == all.simulated_ns / 4);
  CHECK(rest.throughput_tokens_per_s == doctest::Approx(all.throughput_tokens_per_s));
}

TEST_CASE("EPLB pays for mapping a layer and for closing a step") {
  Scenario scenario = even_scenario();
  const double before_ms = run(scenario).step.mean_ms;
  scenario.hardware.fused_mapping_us = 0.5;
  scenario.hardware.step_kernel_us = 9;
  const SimulationResult result = run(scenario);
  CHECK(result.step.mean_ms == doctest::Approx(before_ms + (4 * 0.5 + 9) * 1e-3));
  CHECK(result.breakdown.eplb_ms == doctest::Approx((4 * 0.5 + 9) * 1e-3));
  CHECK(run(without_eplb(scenario)).breakdown.eplb_ms == 0);
}

TEST_CASE("counting by a kernel of its own is paid for while the gate is open") {
  Scenario scenario = even_scenario();
  scenario.eplb.num_redundant_experts = 0;
  scenario.engine.replica_mapping = ReplicaMapping::kSeparate;
  scenario.hardware.mapping_start_us = 2;
  scenario.hardware.record_ns_per_pick = 10;
  scenario.run.steps = 10;
  scenario.run.warmup_steps = 9;
  // 20 steps of window before the trigger of step 9: the gate is open.
  CHECK(run(scenario).breakdown.eplb_ms == doctest::Approx(4 * (2 + 256 * 0.01) * 1e-3));
  scenario.engine.load_counting = LoadCounting::kBoth;
  scenario.hardware.record_ns_second_count = 5;
  CHECK(run(scenario).breakdown.eplb_ms == doctest::Approx(4 * (2 + 256 * 0.015) * 1e-3));
}

TEST_CASE("a readiness all-reduce delays every step by what the hosts take for it") {
  Scenario scenario = even_scenario();
  const double before_ms = run(scenario).step.mean_ms;
  scenario.engine.readiness_all_reduce = true;
  scenario.engine.host_collectives = HostCollectives::kRing;
  const double ring_ms =
      reduction_ns(scenario.hardware, topology_of(scenario.hardware, scenario.parallel).value(),
                   HostCollectives::kRing, 0) *
      1e-6;
  CHECK(ring_ms > 0.1);
  CHECK(run(scenario).step.mean_ms == doctest::Approx(before_ms + ring_ms));
}

}  // namespace
}  // namespace eplb::sim
