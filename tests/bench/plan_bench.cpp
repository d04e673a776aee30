// Goal: how long one plan of all layers takes on one thread, for every policy and for the bounds.
// Method: seeded lognormal loads of realistic skew, a current placement from another draw, so that
// slot preservation has its work; time of the whole call. A case is named layers x slots x ranks.
// The policies of ours search, so that their time depends on how far the load has gone: they get 16
// parts of a load that drifts by 5 % an expert and part, and what they planned one part before;
// and, as their worst case, a load that has nothing to do with the one before. The bars:
// default/58x288x32 within 2 ms; robust from what serves within 60 ms, with fresh starts within 300
// ms.
#include <benchmark/benchmark.h>

#include <array>
#include <boost/random/lognormal_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/learnt_shares.hpp"
#include "eplb/placement/bounds.hpp"
#include "eplb/placement/registry.hpp"

namespace eplb::placement {
namespace {

struct PlanCase {
  Shape shape;
  std::int32_t node_count = 1;
};

constexpr PlanCase kDeepseek{
    {.layer_count = 58, .expert_count = 256, .redundant_slot_count = 32, .rank_count = 32}};
constexpr PlanCase kFlash{
    {.layer_count = 40, .expert_count = 384, .redundant_slot_count = 32, .rank_count = 32}};
constexpr PlanCase kWide{
    {.layer_count = 92, .expert_count = 896, .redundant_slot_count = 64, .rank_count = 64}};
constexpr PlanCase kGrouped{.shape = {.layer_count = 58,
                                      .expert_count = 256,
                                      .redundant_slot_count = 32,
                                      .rank_count = 32,
                                      .expert_group_count = 8},
                            .node_count = 4};

std::string name_of(const PlanCase& plan_case) {
  const Shape& shape = plan_case.shape;
  return std::to_string(shape.layer_count) + "x" + std::to_string(shape.slot_count()) + "x" +
         std::to_string(shape.rank_count) +
         (plan_case.node_count > 1 ? "/nodes:" + std::to_string(plan_case.node_count) : "");
}

RealLoadMatrix lognormal_load(const Shape& shape, std::uint64_t seed) {
  constexpr double kTokensPerExpert = 100'000;
  constexpr double kLogSpread = 0.7;
  boost::random::mt19937_64 random(seed);
  boost::random::lognormal_distribution<double> skew(0.0, kLogSpread);
  RealLoadMatrix load(shape.layer_count, shape.expert_count);
  for (double& cell : load.reshaped<Eigen::RowMajor>()) {
    cell = std::round(kTokensPerExpert * skew(random));
  }
  return load;
}

Topology topology_of(const PlanCase& plan_case) {
  const std::int32_t ranks = plan_case.shape.rank_count;
  return Topology::create({.rank_count = ranks, .ranks_per_node = ranks / plan_case.node_count})
      .value();
}

void plan(benchmark::State& state, const char* policy_name, const PlanCase& plan_case) {
  const Topology topology = topology_of(plan_case);
  const auto policy = make_policy(policy_name).value();
  const std::array<RealLoadMatrix, 2> loads{lognormal_load(plan_case.shape, 1),
                                            lognormal_load(plan_case.shape, 2)};
  PolicyProblem problem{.shape = plan_case.shape,
                        .topology = topology,
                        .history = std::span(loads).first(1),
                        .costs = {}};
  const Placement current = policy->place(problem).value();
  problem.history = std::span(loads).last(1);
  problem.current = &current;
  for (auto _ : state) {
    benchmark::DoNotOptimize(policy->place(problem));
  }
}

/// Parts of a load that drifts, oldest first.
std::vector<RealLoadMatrix> drifting_loads(const Shape& shape, std::size_t part_count) {
  constexpr double kStep = 0.05;
  boost::random::mt19937_64 random(3);
  boost::random::lognormal_distribution<double> step(0.0, kStep);
  std::vector<RealLoadMatrix> parts{lognormal_load(shape, 1)};
  while (parts.size() < part_count) {
    RealLoadMatrix next = parts.back();
    for (double& cell : next.reshaped<Eigen::RowMajor>()) {
      cell *= step(random);
    }
    parts.push_back(std::move(next));
  }
  return parts;
}

void plan_under_drift(benchmark::State& state, const char* spec, const PlanCase& plan_case) {
  constexpr std::size_t kParts = 17;
  const Topology topology = topology_of(plan_case);
  const auto policy = make_policy(spec).value();
  const std::vector<RealLoadMatrix> loads = drifting_loads(plan_case.shape, kParts);
  PolicyProblem problem{.shape = plan_case.shape,
                        .topology = topology,
                        .history = std::span(loads).first(kParts - 1),
                        .costs = {}};
  const Placement current = policy->place(problem).value();
  problem.history = std::span(loads).last(kParts - 1);
  problem.current = &current;
  for (auto _ : state) {
    benchmark::DoNotOptimize(policy->place(problem));
  }
}

void bounds(benchmark::State& state) {
  const RealLoadMatrix load = lognormal_load(kDeepseek.shape, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bound(load, kDeepseek.shape));
  }
}

/// Times what `use` makes of a problem and of the plan of `default` for it.
template <typename Use>
void with_plan(benchmark::State& state, const Use& use) {
  const Topology topology = topology_of(kDeepseek);
  const RealLoadMatrix load = lognormal_load(kDeepseek.shape, 1);
  const PolicyProblem problem{
      .shape = kDeepseek.shape, .topology = topology, .history = std::span(&load, 1), .costs = {}};
  const Placement placement = make_policy("default").value()->place(problem).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(use(problem, placement));
  }
}

void split_bounds(benchmark::State& state) {
  with_plan(state, [](const PolicyProblem& problem, const Placement& placement) {
    return bound_split(problem.history.front(), placement);
  });
}

void learn(benchmark::State& state) {
  with_plan(state, [](const PolicyProblem& problem, const Placement& placement) {
    return learn_shares(problem, placement);
  });
}

void register_all() {
  const auto add = [](const char* policy, const PlanCase& plan_case) {
    benchmark::RegisterBenchmark((std::string(policy) + "/" + name_of(plan_case)).c_str(), plan,
                                 policy, plan_case)
        ->Unit(benchmark::kMicrosecond);
  };
  for (const PlanCase& plan_case : {kDeepseek, kGrouped, kFlash, kWide}) {
    add("default", plan_case);
  }
  for (const char* policy :
       {"deepseek", "trtllm", "linear", "robust", "robust:fresh_starts=0", "frugal"}) {
    add(policy, kDeepseek);
  }
  for (const char* policy : {"robust", "robust:fresh_starts=0", "frugal"}) {
    benchmark::RegisterBenchmark((std::string(policy) + "/drift/" + name_of(kDeepseek)).c_str(),
                                 plan_under_drift, policy, kDeepseek)
        ->Unit(benchmark::kMicrosecond);
  }
  const std::string shape = name_of(kDeepseek);
  benchmark::RegisterBenchmark(("bound/" + shape).c_str(), bounds)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark(("bound_split/" + shape).c_str(), split_bounds)
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark(("learn_shares/" + shape).c_str(), learn)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace eplb::placement

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  eplb::placement::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
