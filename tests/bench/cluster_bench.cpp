// Goal: what a change of the flows costs. Method: 32 ranks that each send to a random other one;
// one flow ends and another begins, and what hangs together with them is solved.
#include <benchmark/benchmark.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <vector>

#include "eplb/sim/cluster/fair_shares.hpp"

namespace eplb::sim {
namespace {

void shares_change(benchmark::State& state) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  const auto flow_count = static_cast<std::size_t>(state.range(1));
  FairShares shares;
  for (std::int32_t port = 0; port < 2 * ranks; ++port) {
    shares.add_resource(900);
  }
  boost::random::mt19937_64 random(1);
  boost::random::uniform_int_distribution<std::int32_t> any(0, ranks - 1);
  const auto demand = [&] {
    return Demand{.uses = {{.resource = {any(random)}, .amount = 1},
                           {.resource = {ranks + any(random)}, .amount = 1}}};
  };
  std::vector<FlowId> flows;
  for (std::size_t flow = 0; flow < flow_count; ++flow) {
    flows.push_back(shares.add(demand()));
  }
  shares.solve();
  std::size_t next = 0;
  for (auto _ : state) {
    FlowId& flow = flows[next++ % flow_count];
    shares.remove(flow);
    flow = shares.add(demand());
    benchmark::DoNotOptimize(shares.solve());
  }
}

BENCHMARK(shares_change)->Args({32, 16})->Args({32, 64})->Args({72, 72})->Args({72, 512});

}  // namespace
}  // namespace eplb::sim
