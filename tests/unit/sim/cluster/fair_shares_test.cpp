// Goal: rates are the weighted max-min ones, and only what hangs together with a change is solved
// anew. Method: small cases worked by hand.
#include "eplb/sim/cluster/fair_shares.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace eplb::sim {
namespace {

std::vector<FlowId> solved(FairShares& shares) {
  const auto changed = shares.solve();
  return {changed.begin(), changed.end()};
}

Demand over(const std::vector<ResourceId>& resources, double cap = 0, double weight = 1) {
  Demand demand{.uses = {}, .cap = cap, .weight = weight};
  for (const ResourceId resource : resources) {
    demand.uses.push_back({.resource = resource, .amount = 1});
  }
  return demand;
}

TEST_CASE("flows of one resource get equal parts, and one that wants less leaves the rest") {
  FairShares shares;
  const ResourceId port = shares.add_resource(900);
  const FlowId small = shares.add(over({port}, 100));
  const FlowId first = shares.add(over({port}));
  const FlowId second = shares.add(over({port}));
  CHECK(solved(shares) == std::vector{small, first, second});
  CHECK(shares.rate(small) == 100);
  CHECK(shares.rate(first) == 400);
  CHECK(shares.rate(second) == 400);
  CHECK(shares.taken(port) == 900);
}

TEST_CASE("a flow is as fast as its narrowest resource, and others take what it leaves") {
  FairShares shares;
  const ResourceId wide = shares.add_resource(100);
  const ResourceId narrow = shares.add_resource(30);
  const FlowId both = shares.add(over({wide, narrow}));
  const FlowId only_narrow = shares.add(over({narrow}));
  const FlowId only_wide = shares.add(over({wide}));
  shares.solve();
  CHECK(shares.rate(both) == 15);
  CHECK(shares.rate(only_narrow) == 15);
  CHECK(shares.rate(only_wide) == 85);
}

TEST_CASE("weights and amounts: who takes three times as much of a full resource pays for it") {
  FairShares shares;
  const ResourceId memory = shares.add_resource(120);
  const FlowId heavy = shares.add({.uses = {{.resource = memory, .amount = 3}}});
  const FlowId light = shares.add({.uses = {{.resource = memory, .amount = 1}}});
  shares.solve();
  CHECK(shares.rate(heavy) == 30);
  CHECK(shares.rate(light) == 30);
  const FlowId weighted = shares.add({.uses = {{.resource = memory, .amount = 1}}, .weight = 2});
  shares.solve();
  CHECK(shares.rate(heavy) == 20);
  CHECK(shares.rate(weighted) == 40);
}

TEST_CASE("eight senders into one receiver get an eighth each") {
  FairShares shares;
  const ResourceId ingress = shares.add_resource(450);
  std::vector<FlowId> flows;
  flows.reserve(8);
  for (int sender = 0; sender < 8; ++sender) {
    flows.push_back(shares.add(over({shares.add_resource(450), ingress})));
  }
  shares.solve();
  for (const FlowId flow : flows) {
    CHECK(shares.rate(flow) == 450.0 / 8);
  }
}

TEST_CASE("only the component that has changed is solved, and only changed rates are told") {
  FairShares shares;
  const ResourceId here = shares.add_resource(10);
  const ResourceId there = shares.add_resource(10);
  const FlowId first = shares.add(over({here}));
  const FlowId other = shares.add(over({there}));
  shares.solve();
  const FlowId second = shares.add(over({here}));
  CHECK(solved(shares) == std::vector{first, second});
  CHECK(shares.rate(other) == 10);
  shares.set_capacity(there, 4);
  CHECK(solved(shares) == std::vector{other});
  CHECK(shares.rate(other) == 4);
  CHECK(solved(shares).empty());
}

TEST_CASE("what a removed flow had goes to the others, and its id comes again") {
  FairShares shares;
  const ResourceId port = shares.add_resource(10);
  const FlowId first = shares.add(over({port}));
  const FlowId second = shares.add(over({port}));
  shares.solve();
  shares.remove(first);
  CHECK(solved(shares) == std::vector{second});
  CHECK(shares.rate(second) == 10);
  const FlowId third = shares.add(over({port}));
  CHECK(third == first);
  CHECK(solved(shares) == std::vector{third, second});
  CHECK(shares.rate(third) == 5);
}

TEST_CASE("a resource without capacity stops its flows, and lets them go on later") {
  FairShares shares;
  const ResourceId port = shares.add_resource(0);
  const FlowId flow = shares.add(over({port}, 7));
  shares.solve();
  CHECK(shares.rate(flow) == 0);
  shares.set_capacity(port, 5);
  shares.solve();
  CHECK(shares.rate(flow) == 5);
}

}  // namespace
}  // namespace eplb::sim
