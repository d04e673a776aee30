// Goal: in async mode serving waits for a rearrangement only where a commit's copies and maps stand
// between two forwards, and where copies take memory and ports from one. Method: 10,000 steps of a
// small scenario whose load changes, without faults, through simulate(); the parts of the mean step
// are added up.
#include <doctest/doctest.h>

#include "eplb/sim/simulation.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb {
namespace {

TEST_CASE("no step of ten thousand holds, and only commits and copies beside it delay any") {
  sim::Scenario scenario = test::small_scenario();
  scenario.run.steps = 10'000;
  scenario.eplb.step_interval = 100;
  scenario.workload.drift = sim::SwitchDrift{.every_steps = 500};
  const sim::SimulationResult result = sim::simulate(scenario, test::rotating_policy(), {}).value();
  CHECK(result.steps == 10'000);
  CHECK(result.hold_count == 0);
  CHECK(result.hold_ns == 0);
  CHECK(result.aborted_rearrangement_count == 0);
  // After 25 steps, then every 100.
  CHECK(result.rearrangements.size() == 100);
  CHECK(result.commit_count >= 100);
  CHECK(result.breakdown.eplb_ms * 1e6 * 10'000 ==
        doctest::Approx(static_cast<double>(result.commit_ns + result.slowed_ns)));
  CHECK(result.breakdown.idle_ms == 0);
  CHECK(result.breakdown.mega_moe_ms + result.breakdown.others_ms + result.breakdown.eplb_ms ==
        doctest::Approx(result.step.mean_ms));
  CHECK(result.step.mean_ms * 1e6 * 10'000 ==
        doctest::Approx(static_cast<double>(result.simulated_ns)));
}

}  // namespace
}  // namespace eplb
