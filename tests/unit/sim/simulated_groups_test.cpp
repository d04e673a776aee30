// Goal: every kind of group and protocol that a scenario may ask for is served through simulate(),
// and acts on times and bytes as it should. Method: the small scenario with even load and no noise,
// one thing changed at a time, values worked by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "eplb/sim/simulation.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

/// An expert layer: start, then 120 ns a row of the busiest ranks, which hold five experts with
/// one replica each, of 64 rows in a block of 96, and read 6 us of weights for each.
const double kLayerMs = 0.010 + std::pow(std::pow(5 * 96 * 120e-6, 8) + std::pow(5 * 6e-3, 8) +
                                             std::pow(320 * 3.75e-6 + 256 * 3.75e-6, 8),
                                         0.125);
constexpr double kOthersMs = 0.5 + 64 * 0.01;

Scenario even_scenario() {
  Scenario scenario = test::small_scenario();
  scenario.workload = {.routing = UniformRouting{}, .drift = NoDrift{}, .noise = Noise::kNone};
  scenario.eplb.communicator = Communicator::kSymmMem;
  return scenario;
}

/// Four slots a rank, so that a rotation brings each rank four rows of one other rank.
Scenario without_redundancy() {
  Scenario scenario = even_scenario();
  scenario.eplb.num_redundant_experts = 0;
  return scenario;
}

SimulationResult rotated_run(const Scenario& scenario) {
  const auto result = simulate(scenario, test::rotating_policy(), {});
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return *result;
}

std::int64_t steps_of(const RearrangementReport& report) {
  return report.rearrangement.end_step - report.rearrangement.start_step;
}

TEST_CASE("a draft's layers are served, balanced and paid for with the target's") {
  Scenario scenario = even_scenario();
  scenario.drafts = {scenario.model};
  scenario.drafts[0].moe_layers = 1;
  const SimulationResult result = rotated_run(scenario);
  CHECK(result.breakdown.mega_moe_ms == doctest::Approx(5 * kLayerMs));
  CHECK(result.memory.weights_bytes == 5LL * 5 * 6'000'000);
  REQUIRE(result.rearrangements.size() == 5);
  for (const RearrangementReport& report : result.rearrangements) {
    CHECK(report.rearrangement.committed_layers == 5);
  }
  CHECK(result.hold_count == 0);
}

TEST_CASE("a stage of a pipeline without layers of its own serves along") {
  Scenario scenario = even_scenario();
  scenario.parallel.pipeline_stages = 6;
  const SimulationResult result = rotated_run(scenario);
  // Four stages have one layer each, and all stages run at once.
  CHECK(result.breakdown.mega_moe_ms == doctest::Approx(kLayerMs));
  CHECK(result.breakdown.others_ms == doctest::Approx(kOthersMs / 6));
  CHECK(result.memory.weights_bytes == 5LL * 6'000'000);
  REQUIRE(result.rearrangements.size() == 4 * 5);
  for (const RearrangementReport& report : result.rearrangements) {
    CHECK(report.rearrangement.committed_layers == 1);
    CHECK(report.rearrangement.start_step % 40 == 9);
  }
  CHECK(result.hold_count == 0);
}

TEST_CASE("stages split the layers of one model, as evenly as they go") {
  Scenario scenario = even_scenario();
  scenario.parallel.pipeline_stages = 3;
  const SimulationResult result = rotated_run(scenario);
  // 1, 1 and 2 layers.
  CHECK(result.breakdown.mega_moe_ms == doctest::Approx(2 * kLayerMs));
  CHECK(result.memory.weights_bytes == 5LL * 2 * 6'000'000);
  std::map<std::int64_t, int> stages_by_layers;
  for (const RearrangementReport& report : result.rearrangements) {
    ++stages_by_layers[report.rearrangement.committed_layers];
  }
  CHECK(stages_by_layers == std::map<std::int64_t, int>{{1, 2 * 5}, {2, 5}});
}

TEST_CASE("a group grows and shrinks while it serves, for as many ranks' tokens as there are") {
  Scenario scenario = even_scenario();
  scenario.eplb.communicator = Communicator::kNixl;
  scenario.parallel.scale = {{.at_step = 60, .ranks = 6}, {.at_step = 130, .ranks = 4}};
  const test::FunctionPolicy policy(
      [](const PolicyProblem& problem) { return Placement::initial(problem.shape); });
  const auto result = simulate(scenario, policy, {});
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  CHECK(result->steps == 200);
  // One more step of six ranks passes while experts leave the last two.
  const double rank_steps = 60 * 4 + 71 * 6 + 69 * 4;
  CHECK(result->throughput_tokens_per_s * static_cast<double>(result->simulated_ns) * 1e-9 ==
        doctest::Approx(rank_steps * 64 * 1.5));
  // New ranks are filled at their first step, leaving ones emptied at their last: both held.
  CHECK(result->hold_count >= 2);
  CHECK(result->hold_ns > 0);
  CHECK(result->memory.weights_bytes == 5LL * 4 * 6'000'000);
  CHECK(result->aborted_rearrangement_count == 0);
}

TEST_CASE("each communicator moves the same rows, in its own time") {
  std::map<Communicator, RearrangementReport> first;
  for (const Communicator communicator :
       {Communicator::kSymmMem, Communicator::kNixl, Communicator::kTorchGloo}) {
    Scenario scenario = without_redundancy();
    scenario.eplb.communicator = communicator;
    const SimulationResult result = rotated_run(scenario);
    CHECK(result.hold_count == 0);
    REQUIRE_FALSE(result.rearrangements.empty());
    first[communicator] = result.rearrangements[0];
  }
  for (const Communicator communicator : {Communicator::kTorchNccl, Communicator::kPynccl}) {
    Scenario scenario = without_redundancy();
    scenario.eplb.use_async = false;
    scenario.eplb.communicator = communicator;
    const SimulationResult result = rotated_run(scenario);
    REQUIRE_FALSE(result.rearrangements.empty());
    first[communicator] = result.rearrangements[0];
  }
  for (const auto& entry : first) {
    const RearrangementReport& report = entry.second;
    CAPTURE(static_cast<int>(entry.first));
    CHECK(report.rearrangement.committed_layers == 4);
    CHECK(report.rearrangement.moved_experts == 4 * 16);
  }
  // Four rows a rank and layer, one after another: 30 us each by copy engines, 25 by NCCL, 6.2 ms
  // by gloo; 30 us within a node by NIXL, 300 to the next.
  const std::map<Communicator, std::int64_t> row_ns{{Communicator::kSymmMem, 30'000},
                                                    {Communicator::kTorchNccl, 25'000},
                                                    {Communicator::kPynccl, 25'000},
                                                    {Communicator::kNixl, 300'000},
                                                    {Communicator::kTorchGloo, 6'200'000}};
  for (const auto& entry : row_ns) {
    CAPTURE(static_cast<int>(entry.first));
    const std::int64_t rows_ns = 16 * entry.second;
    // Ranks of the other node begin one message, 15 us, later; a commit beside a transfer fills the
    // memory for a moment.
    CHECK(first[entry.first].wire_ns >= rows_ns);
    CHECK(first[entry.first].wire_ns <= rows_ns + 18'000);
  }
  CHECK(first[Communicator::kTorchNccl].rearrangement.end_step == 9);
}

TEST_CASE("the barriers' handshake moves the same, and is no faster") {
  Scenario scenario = even_scenario();
  const SimulationResult statuses = rotated_run(scenario);
  scenario.eplb.handshake = Handshake::kBarriers;
  const SimulationResult barriers = rotated_run(scenario);
  CHECK(barriers.hold_count == 0);
  REQUIRE(barriers.rearrangements.size() == statuses.rearrangements.size());
  CHECK(barriers.rearrangements[0].rearrangement.moved_experts ==
        statuses.rearrangements[0].rearrangement.moved_experts);
  CHECK(barriers.rearrangements[0].rearrangement.end_step >=
        statuses.rearrangements[0].rearrangement.end_step);
}

TEST_CASE("layers in flight share a pool, and one at a time take a step each") {
  Scenario scenario = even_scenario();
  scenario.eplb.landing_rows = 4 * 5;
  const SimulationResult together = rotated_run(scenario);
  scenario.eplb.layers_in_flight = 1;
  const SimulationResult alone = rotated_run(scenario);
  CHECK(together.memory.landing_bytes == 20LL * 6'000'000);
  CHECK(together.commit_count == 5);
  CHECK(together.commit_ns == 5 * (20 * 12'000 + 4 * 2'000));
  CHECK(alone.commit_count == 5 * 4);
  CHECK(alone.commit_ns == 5 * 4 * (5 * 12'000 + 2'000));
  CHECK(steps_of(alone.rearrangements[0]) == steps_of(together.rearrangements[0]) + 3);
}

TEST_CASE("a group that raises ends the run with its reason") {
  Scenario scenario = even_scenario();
  scenario.eplb.on_failure = OnFailure::kRaise;
  scenario.eplb.deadline_ms = 0.001;
  const auto result = simulate(scenario, test::rotating_policy(), {});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kPeerFailed);
  CHECK(result.error().message.starts_with("the group has ended: "));
}

TEST_CASE("a group that keeps serving counts what it gave up") {
  Scenario scenario = without_redundancy();
  // A layer's rows take 24.8 ms: too long, but over before the abort has waited as long again.
  scenario.eplb.deadline_ms = 15;
  scenario.eplb.communicator = Communicator::kTorchGloo;
  const SimulationResult result = rotated_run(scenario);
  CHECK(result.steps == 200);
  CHECK(result.aborted_rearrangement_count == 5);
  CHECK(result.rearrangements.empty());
}

}  // namespace
}  // namespace eplb::sim
