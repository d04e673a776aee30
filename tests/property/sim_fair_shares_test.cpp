// Goal: the solver's rates are the max-min fair ones, whatever the flows, and however they come and
// go. Method: random systems; rates against an exact solver over rationals of another build: it
// finds one bottleneck at a time in the whole system. And by the certificate of max-min fairness:
// every flow has its cap, or a full resource on which no flow has more for its weight.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "eplb/sim/cluster/fair_shares.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb::sim {
namespace {

using Exact = boost::multiprecision::cpp_rational;

constexpr int kSystemCount = 400;

/// All of it in whole numbers, so that both solvers are given the same.
struct System {
  struct Flow {
    std::vector<std::pair<std::size_t, std::int64_t>> uses;
    std::int64_t cap = 0;
    std::int64_t weight = 1;
    bool live = true;
  };

  std::vector<std::int64_t> capacities;
  std::vector<Flow> flows;
};

System::Flow random_flow(test::RandomWorlds& worlds, std::size_t resource_count) {
  System::Flow flow;
  for (std::size_t resource = 0; resource < resource_count; ++resource) {
    if (worlds.between(0, static_cast<std::int32_t>(resource_count)) <= 2) {
      flow.uses.emplace_back(resource, worlds.between(1, 3));
    }
  }
  const bool capped = flow.uses.empty() || worlds.between(0, 2) == 0;
  flow.cap = capped ? worlds.between(1, 60) : 0;
  flow.weight = worlds.between(1, 3);
  return flow;
}

Demand demand_of(const System::Flow& flow) {
  Demand demand{
      .uses = {}, .cap = static_cast<double>(flow.cap), .weight = static_cast<double>(flow.weight)};
  for (const auto& [resource, amount] : flow.uses) {
    demand.uses.push_back(
        {.resource = {static_cast<std::int32_t>(resource)}, .amount = static_cast<double>(amount)});
  }
  return demand;
}

/// Takes the tightest constraint of all, a cap or a resource, and fixes its flows there; then
/// again.
std::vector<Exact> exact_rates(const System& system) {
  std::vector<std::optional<Exact>> rates(system.flows.size());
  for (std::size_t index = 0; index < system.flows.size(); ++index) {
    if (!system.flows[index].live) {
      rates[index] = 0;
    }
  }
  const auto level_of = [&](std::size_t resource) -> std::optional<Exact> {
    Exact left = system.capacities[resource];
    Exact wanted = 0;
    for (std::size_t index = 0; index < system.flows.size(); ++index) {
      for (const auto& [used, amount] : system.flows[index].uses) {
        if (used == resource && rates[index]) {
          left -= *rates[index] * amount;
        } else if (used == resource) {
          wanted += Exact(system.flows[index].weight) * amount;
        }
      }
    }
    return wanted == 0 ? std::optional<Exact>() : Exact(left / wanted);
  };
  while (std::ranges::any_of(rates, [](const auto& rate) { return !rate; })) {
    std::optional<Exact> level;
    for (std::size_t resource = 0; resource < system.capacities.size(); ++resource) {
      const std::optional<Exact> at = level_of(resource);
      if (at && (!level || *at < *level)) {
        level = at;
      }
    }
    for (std::size_t index = 0; index < system.flows.size(); ++index) {
      const System::Flow& flow = system.flows[index];
      if (!rates[index] && flow.cap > 0 && (!level || Exact(flow.cap) / flow.weight < *level)) {
        level = Exact(flow.cap) / flow.weight;
      }
    }
    std::vector<std::size_t> fixed;
    for (std::size_t index = 0; index < system.flows.size(); ++index) {
      const System::Flow& flow = system.flows[index];
      const bool full = std::ranges::any_of(
          flow.uses, [&](const auto& use) { return level_of(use.first) == level; });
      if (!rates[index] && (full || (flow.cap > 0 && Exact(flow.cap) / flow.weight == *level))) {
        fixed.push_back(index);
      }
    }
    for (const std::size_t index : fixed) {
      rates[index] = *level * system.flows[index].weight;
    }
  }
  std::vector<Exact> all;
  for (const auto& rate : rates) {
    all.push_back(*rate);
  }
  return all;
}

void check_rates(const System& system, const FairShares& shares, const std::vector<FlowId>& ids) {
  const std::vector<Exact> exact = exact_rates(system);
  for (std::size_t index = 0; index < system.flows.size(); ++index) {
    if (system.flows[index].live) {
      CHECK(shares.rate(ids[index]) ==
            doctest::Approx(static_cast<double>(exact[index])).epsilon(1e-9));
    }
  }
}

/// Work-conserving and fair: nobody can have more but at the cost of one that has no more.
void check_certificate(const System& system, const FairShares& shares,
                       const std::vector<FlowId>& ids) {
  constexpr double kClose = 1e-9;
  std::vector<double> used(system.capacities.size(), 0);
  std::vector<double> highest(system.capacities.size(), 0);
  for (std::size_t index = 0; index < system.flows.size(); ++index) {
    const System::Flow& flow = system.flows[index];
    if (!flow.live) {
      continue;
    }
    const double rate = shares.rate(ids[index]);
    for (const auto& [resource, amount] : flow.uses) {
      used[resource] += rate * static_cast<double>(amount);
      highest[resource] = std::max(highest[resource], rate / static_cast<double>(flow.weight));
    }
  }
  for (std::size_t resource = 0; resource < used.size(); ++resource) {
    CHECK(used[resource] <= static_cast<double>(system.capacities[resource]) * (1 + kClose));
  }
  for (std::size_t index = 0; index < system.flows.size(); ++index) {
    const System::Flow& flow = system.flows[index];
    if (!flow.live) {
      continue;
    }
    const double rate = shares.rate(ids[index]);
    const double level = rate / static_cast<double>(flow.weight);
    const bool at_cap = flow.cap > 0 && rate >= static_cast<double>(flow.cap) * (1 - kClose);
    const bool at_bottleneck = std::ranges::any_of(flow.uses, [&](const auto& use) {
      const auto capacity = static_cast<double>(system.capacities[use.first]);
      return used[use.first] >= capacity * (1 - kClose) &&
             level >= highest[use.first] * (1 - kClose);
    });
    CHECK((at_cap || at_bottleneck));
  }
}

TEST_CASE("rates are an exact solver's, through arrivals, departures and changed capacities") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  test::RandomWorlds worlds(seed);
  for (int round = 0; round < kSystemCount; ++round) {
    CAPTURE(round);
    System system;
    FairShares shares;
    std::vector<FlowId> ids;
    const auto resource_count = static_cast<std::size_t>(worlds.between(1, 8));
    for (std::size_t resource = 0; resource < resource_count; ++resource) {
      system.capacities.push_back(worlds.between(0, 100));
      shares.add_resource(static_cast<double>(system.capacities.back()));
    }
    for (int change = worlds.between(1, 14); change > 0; --change) {
      const std::int32_t kind = worlds.between(0, 9);
      const auto any = static_cast<std::size_t>(
          worlds.between(0, std::max(0, static_cast<std::int32_t>(system.flows.size()) - 1)));
      if (kind == 0) {
        const std::size_t resource = any % resource_count;
        system.capacities[resource] = worlds.between(0, 100);
        shares.set_capacity({static_cast<std::int32_t>(resource)},
                            static_cast<double>(system.capacities[resource]));
      } else if (kind <= 3 && any < system.flows.size() && system.flows[any].live) {
        system.flows[any].live = false;
        shares.remove(ids[any]);
      } else {
        system.flows.push_back(random_flow(worlds, resource_count));
        ids.push_back(shares.add(demand_of(system.flows.back())));
      }
      if (worlds.between(0, 1) == 0) {
        shares.solve();
      }
    }
    shares.solve();
    check_rates(system, shares, ids);
    check_certificate(system, shares, ids);
  }
}

}  // namespace
}  // namespace eplb::sim
