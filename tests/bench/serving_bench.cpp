// Goal: what a simulated step costs, and that the cost grows linearly in steps and layers. Method:
// the shipped EP32 scenario of DeepSeek-V4.1-Flash and EP72 of DeepSeek-V3's shape, rearranged
// asynchronously every 1000 steps, with other numbers of steps and layers; one run each.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/placement/registry.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::sim {
namespace {

Scenario scenario_of(const std::vector<std::string>& overrides) {
  config::LoadOptions options;
  options.config_dirs = {EPLB_SOURCE_DIR "/configs"};
  options.overrides = overrides;
  options.overrides.emplace_back("run.compare_off=false");
  options.overrides.emplace_back("eplb.step_interval=1000");
  const auto loaded = config::load_config(EPLB_SOURCE_DIR "/configs/gb200-dep32.yaml", options);
  if (!loaded) {
    throw std::runtime_error(to_string(loaded.error().front()));
  }
  return loaded->scenario;
}

void serve(benchmark::State& state, const Scenario& scenario) {
  const auto policy = placement::make_policy(scenario.eplb.policy).value();
  std::int64_t rearrangements = 0;
  for (auto _ : state) {
    const SimulationResult result = simulate(scenario, *policy, {}).value();
    rearrangements = static_cast<std::int64_t>(result.rearrangements.size());
  }
  state.counters["rearrangements"] = static_cast<double>(rearrangements);
  state.counters["per_step_and_layer"] = benchmark::Counter(
      static_cast<double>(scenario.run.steps) * scenario.model.moe_layers,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void serve_ep32(benchmark::State& state) {
  serve(state, scenario_of({"run.steps=" + std::to_string(state.range(0)),
                            "model.moe_layers=" + std::to_string(state.range(1))}));
}

void serve_ep72(benchmark::State& state) {
  serve(state, scenario_of({"model=deepseek-v3", "parallel.ranks=72",
                            "run.steps=" + std::to_string(state.range(0)),
                            "model.moe_layers=" + std::to_string(state.range(1))}));
}

BENCHMARK(serve_ep32)
    ->Args({2'500, 40})
    ->Args({5'000, 40})
    ->Args({10'000, 40})
    ->Args({5'000, 20})
    ->Args({5'000, 80})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK(serve_ep72)
    ->Args({2'500, 58})
    ->Args({5'000, 58})
    ->Args({10'000, 58})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace eplb::sim
