// Goal: what goes wrong in a run costs what it must, and ends it where it must. Method: the small
// scenario with one fault beside the same without; differences worked by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "eplb/sim/simulation.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

SimulationResult run(const Scenario& scenario) {
  return simulate(scenario, test::rotating_policy(), {}).value();
}

Scenario quiet() {
  Scenario scenario = test::small_scenario();
  scenario.eplb.enabled = false;
  return scenario;
}

TEST_CASE("a straggler makes every step of its time longer, and that time is idle") {
  Scenario scenario = quiet();
  const SimulationResult plain = run(scenario);
  CHECK(plain.breakdown.idle_ms == 0);
  scenario.faults.stragglers = {{{.at_ms = 0}, 2, 100}};
  const SimulationResult late = run(scenario);
  // The last step has no next forward.
  CHECK(late.breakdown.idle_ms == doctest::Approx(0.1));
  CHECK(late.simulated_ns == plain.simulated_ns + 20'000'000);
  CHECK(late.breakdown.mega_moe_ms == plain.breakdown.mega_moe_ms);
}

TEST_CASE("with balancers a late host is idle time too, not theirs") {
  Scenario scenario = test::small_scenario();
  scenario.faults.stragglers = {{{.at_ms = 0}, 2, 100}};
  const SimulationResult late = run(scenario);
  CHECK(late.breakdown.idle_ms == doctest::Approx(0.1).epsilon(0.05));
  CHECK(late.hold_count == 0);
  CHECK(late.breakdown.eplb_ms < 0.02);
}

TEST_CASE("a host that stalls delays one step by what is left of its stall") {
  Scenario scenario = quiet();
  const SimulationResult plain = run(scenario);
  scenario.faults.host_stalls = {{.rank = 1, .at_ms = 20, .duration_ms = 50}};
  const SimulationResult stalled = run(scenario);
  const auto lost_ns = static_cast<double>(stalled.simulated_ns - plain.simulated_ns);
  CHECK(lost_ns <= 50e6);
  CHECK(lost_ns >= 50e6 - plain.step.mean_ms * 1.5e6);
  CHECK(stalled.step.p99_ms == doctest::Approx(plain.step.p99_ms).epsilon(0.02));
}

TEST_CASE("a slow port stretches the layers that wait for the wire, failed links do the same") {
  Scenario scenario = quiet();
  scenario.hardware.nvlink_bandwidth_gb_per_s = 4;  // So that the wire is the longest part.
  scenario.hardware.peer_copy_bandwidth_gb_per_s = 4;
  scenario.workload.routing = UniformRouting{};
  scenario.workload.noise = Noise::kNone;
  const SimulationResult plain = run(scenario);
  const double start_ms = 4 * 10e-3;  // Of four layers.
  scenario.faults.slow_ports = {{{.at_ms = 0}, 3, Port::kNvlink, 0.5}};
  const SimulationResult slow = run(scenario);
  CHECK(slow.breakdown.mega_moe_ms - start_ms ==
        doctest::Approx(2 * (plain.breakdown.mega_moe_ms - start_ms)).epsilon(0.02));
  scenario.faults.slow_ports.clear();
  scenario.faults.failed_links = {{{.at_ms = 0}, 0, 9}};
  CHECK(run(scenario).breakdown.mega_moe_ms == doctest::Approx(slow.breakdown.mega_moe_ms));
}

TEST_CASE("a slow port slows the rows that go through it") {
  Scenario scenario = test::small_scenario();
  const SimulationResult plain = run(scenario);
  scenario.faults.slow_ports = {{{.at_ms = 0}, 3, Port::kNvlink, 0.1}};
  const SimulationResult slow = run(scenario);
  REQUIRE_FALSE(slow.rearrangements.empty());
  // Bytes of its rows take ten times as long; starts and the others' rows do not.
  CHECK(slow.rearrangements[0].wire_ns * 10 > plain.rearrangements[0].wire_ns * 18);
  CHECK(slow.rearrangements[0].rearrangement.moved_bytes ==
        plain.rearrangements[0].rearrangement.moved_bytes);
}

TEST_CASE("a lost rank ends the group, and the reason names it, with balancers and without") {
  for (const bool enabled : {true, false}) {
    Scenario scenario = test::small_scenario();
    scenario.eplb.enabled = enabled;
    scenario.faults.lost_ranks = {{.rank = 2, .at_ms = 30}};
    const auto result = simulate(scenario, test::rotating_policy(), {});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == ErrorCode::kPeerFailed);
    CHECK(result.error().message.find("rank 2") != std::string::npos);
  }
}

TEST_CASE("a rank can be lost in a state of its migration, and is not if that never comes") {
  Scenario scenario = test::small_scenario();
  for (const LostWhile moment : {LostWhile::kStarting, LostWhile::kIdle, LostWhile::kAggregating,
                                 LostWhile::kPlanning, LostWhile::kMoving}) {
    CAPTURE(static_cast<int>(moment));
    scenario.faults.lost_ranks = {{.rank = 2, .at_ms = 0, .moment = moment}};
    const auto result = simulate(scenario, test::rotating_policy(), {});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().message.find("rank 2") != std::string::npos);
  }
  scenario.faults.lost_ranks = {};
  const SimulationResult plain = run(scenario);
  REQUIRE_FALSE(plain.rearrangements.empty());
  scenario.faults.lost_ranks = {{.rank = 2, .at_ms = 0, .moment = LostWhile::kAborting}};
  CHECK(run(scenario).simulated_ns == plain.simulated_ns);
  scenario.eplb.enabled = false;
  scenario.faults.lost_ranks = {{.rank = 2, .at_ms = 0, .moment = LostWhile::kIdle}};
  CHECK(simulate(scenario, test::rotating_policy(), {}).has_value());
}

TEST_CASE("a rank that is lost after the run's end is no fault of it") {
  Scenario scenario = quiet();
  const SimulationResult plain = run(scenario);
  scenario.faults.lost_ranks = {{.rank = 2, .at_ms = 1e6}};
  CHECK(run(scenario).simulated_ns == plain.simulated_ns);
}

}  // namespace
}  // namespace eplb::sim
