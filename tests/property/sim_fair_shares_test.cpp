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
#include <utility>
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

/// Fixes one bottleneck after another: the tightest constraint of all, a cap or a resource.
class ExactSolver {
 public:
  explicit ExactSolver(const System& system) : system_(system), rates_(system.flows.size()) {
    for (std::size_t index = 0; index < rates_.size(); ++index) {
      if (!system.flows[index].live) {
        rates_[index] = 0;
      }
    }
  }

  std::vector<Exact> solve() {
    while (std::ranges::any_of(rates_, [](const auto& rate) { return !rate; })) {
      fix(*tightest());
    }
    std::vector<Exact> all;
    all.reserve(rates_.size());
    for (const auto& rate : rates_) {
      all.push_back(*rate);
    }
    return all;
  }

 private:
  /// Where the resource is full if all flows that are not fixed grow alike; none if it has none.
  [[nodiscard]] std::optional<Exact> level_of(std::size_t resource) const {
    Exact left = system_.capacities[resource];
    Exact wanted = 0;
    for (std::size_t index = 0; index < rates_.size(); ++index) {
      const System::Flow& flow = system_.flows[index];
      const auto use =
          std::ranges::find(flow.uses, resource, &std::pair<std::size_t, std::int64_t>::first);
      if (use == flow.uses.end()) {
        continue;
      }
      if (rates_[index]) {
        left -= *rates_[index] * use->second;
      } else {
        wanted += Exact(flow.weight) * use->second;
      }
    }
    return wanted == 0 ? std::optional<Exact>() : Exact(left / wanted);
  }

  [[nodiscard]] static std::optional<Exact> cap_level(const System::Flow& flow) {
    return flow.cap > 0 ? std::optional<Exact>(Exact(flow.cap) / flow.weight) : std::nullopt;
  }

  [[nodiscard]] std::optional<Exact> tightest() const {
    std::optional<Exact> level;
    const auto consider = [&](const std::optional<Exact>& one) {
      if (one && (!level || *one < *level)) {
        level = one;
      }
    };
    for (std::size_t resource = 0; resource < system_.capacities.size(); ++resource) {
      consider(level_of(resource));
    }
    for (std::size_t index = 0; index < rates_.size(); ++index) {
      consider(rates_[index] ? std::optional<Exact>() : cap_level(system_.flows[index]));
    }
    return level;
  }

  void fix(const Exact& level) {
    std::vector<std::size_t> fixed;
    for (std::size_t index = 0; index < rates_.size(); ++index) {
      const System::Flow& flow = system_.flows[index];
      const bool full = std::ranges::any_of(
          flow.uses, [&](const auto& use) { return level_of(use.first) == level; });
      if (!rates_[index] && (full || cap_level(flow) == level)) {
        fixed.push_back(index);
      }
    }
    for (const std::size_t index : fixed) {
      rates_[index] = level * system_.flows[index].weight;
    }
  }

  const System& system_;
  std::vector<std::optional<Exact>> rates_;
};

void check_rates(const System& system, const FairShares& shares, const std::vector<FlowId>& ids) {
  const std::vector<Exact> exact = ExactSolver(system).solve();
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
