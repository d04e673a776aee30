// Goal: how long a step may have to wait for a rank's helper, and what a step costs on a rank: the
// longest single pieces of work of the protocol, none of which may block.
// Method: one rank of DeepSeek-V4.1-Flash's shape, 40 layers of 384 + 32 experts on 32 ranks, with
// a migration in which nearly every slot changes; the devices answer at once.
#include <benchmark/benchmark.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "outbox.hpp"
#include "scripted_environment.hpp"

namespace eplb {
namespace {

constexpr Shape kFlash{
    .layer_count = 40, .expert_count = 384, .redundant_slot_count = 32, .rank_count = 32};

Placement shuffled(std::uint64_t seed) {
  boost::random::mt19937_64 random(seed);
  std::vector<LayerPlacement> layers;
  for (std::int32_t layer = 0; layer < kFlash.layer_count; ++layer) {
    const LayerPlacement initial = LayerPlacement::initial(kFlash);
    std::vector<LogicalExpertId> occupants(initial.occupants().begin(), initial.occupants().end());
    for (std::size_t left = occupants.size(); left > 1; --left) {
      boost::random::uniform_int_distribution<std::size_t> any(0, left - 1);
      std::swap(occupants[left - 1], occupants[any(random)]);
    }
    layers.push_back(LayerPlacement::create(kFlash, std::move(occupants)).value());
  }
  return Placement::create(kFlash, std::move(layers)).value();
}

ScheduleOptions options() {
  return {.landing_rows = default_landing_rows(kFlash),
          .row_bytes = std::vector<std::int64_t>(40, 18'800'640)};
}

/// The planner's work beside the policy's.
void schedule(benchmark::State& state) {
  const Placement before = shuffled(1);
  const Placement after = shuffled(2);
  for (auto _ : state) {
    benchmark::DoNotOptimize(schedule_migration(before, after, options()));
  }
}

/// The call of progress that takes a plan.
void take_schedule(benchmark::State& state) {
  const auto plan = std::make_shared<const MigrationSchedule>(
      schedule_migration(shuffled(1), shuffled(2), options()));
  test::ScriptedEnvironment environment(RankId{5}, kFlash.rank_count);
  Outbox outbox({.rank_count = kFlash.rank_count, .layers_in_flight = 40},
                environment.environment());
  for (auto _ : state) {
    outbox.load(plan, 1);
  }
}

/// A slice of the window's sum: 64 of 1,000 recorded steps.
void advance_sum(benchmark::State& state) {
  constexpr std::int32_t kSteps = 1000;
  auto window = LoadWindow::create({.layer_count = kFlash.layer_count,
                                    .expert_count = kFlash.expert_count,
                                    .step_count_max = kSteps});
  const LoadMatrix counts = LoadMatrix::Constant(kFlash.layer_count, kFlash.expert_count, 12);
  for (std::int32_t step = 0; step < kSteps; ++step) {
    if (!window->record(counts)) {
      state.SkipWithError("the window does not record");
    }
  }
  window->start_sum();
  for (auto _ : state) {
    if (window->advance_sum(1'000'000)) {
      state.PauseTiming();
      window->start_sum();
      state.ResumeTiming();
    }
  }
}

/// A step in which nothing is recorded and nothing moves.
void idle_step(benchmark::State& state) {
  test::ScriptedEnvironment environment(RankId{5}, kFlash.rank_count);
  environment.recorder.counts = false;
  EplbOptions eplb;
  eplb.step_interval = 1'000'000'000;
  auto balancer =
      Balancer::create({.options = eplb,
                        .shape = kFlash,
                        .topology = Topology::create({.rank_count = kFlash.rank_count}).value(),
                        .row_bytes = options().row_bytes},
                       environment.environment());
  for (auto _ : state) {
    benchmark::DoNotOptimize((*balancer)->on_step(StepKind::kReal));
    environment.recorder.closed.clear();
    environment.trace.records.clear();
  }
}

BENCHMARK(schedule)->Unit(benchmark::kMillisecond);
BENCHMARK(take_schedule)->Unit(benchmark::kMicrosecond);
BENCHMARK(advance_sum)->Unit(benchmark::kMicrosecond);
BENCHMARK(idle_step)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace eplb
