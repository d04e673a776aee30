#include "eplb/sim/cluster/fair_shares.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// Levels that differ by less are one: what rounding makes of flows that fill up together.
constexpr double kSameLevel = 1 + 1e-12;

}  // namespace

ResourceId FairShares::add_resource(double capacity) {
  resources_.push_back({.capacity = capacity});
  return {static_cast<std::int32_t>(resources_.size()) - 1};
}

void FairShares::touch(ResourceId resource) {
  Resource& touched = resources_[resource.index()];
  if (!touched.dirty) {
    touched.dirty = true;
    dirty_resources_.push_back(resource);
  }
}

void FairShares::set_capacity(ResourceId resource, double capacity) {
  resources_[resource.index()].capacity = capacity;
  touch(resource);
}

FlowId FairShares::add(Demand demand) {
  EPLB_ASSERT(!demand.uses.empty() || demand.cap > 0);
  FlowId id{static_cast<std::int32_t>(flows_.size())};
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  for (const Use& use : demand.uses) {
    resources_[use.resource.index()].flows.push_back(id);
  }
  flows_[id.index()] = {.demand = std::move(demand), .live = true, .dirty = true};
  dirty_flows_.push_back(id);
  return id;
}

void FairShares::remove(FlowId flow) {
  Flow& gone = flows_[flow.index()];
  EPLB_ASSERT(gone.live);
  for (const Use& use : gone.demand.uses) {
    auto& flows = resources_[use.resource.index()].flows;
    flows.erase(std::ranges::find(flows, flow));
    touch(use.resource);
  }
  gone = {};
  free_.push_back(flow);
}

std::span<const FlowId> FairShares::solve() {
  changed_.clear();
  reach_component();
  fill();
  for (const FlowId flow : component_flows_) {
    flows_[flow.index()].reached = false;
  }
  for (const ResourceId resource : component_resources_) {
    resources_[resource.index()].reached = false;
  }
  std::ranges::sort(changed_);
  return changed_;
}

/// All that hangs together with what has changed.
void FairShares::reach_component() {
  component_resources_.clear();
  component_flows_.clear();
  for (const ResourceId resource : std::exchange(dirty_resources_, {})) {
    Resource& start = resources_[resource.index()];
    start.dirty = false;
    if (!start.reached) {
      start.reached = true;
      component_resources_.push_back(resource);
    }
  }
  for (const FlowId flow : std::exchange(dirty_flows_, {})) {
    if (flows_[flow.index()].live && std::exchange(flows_[flow.index()].dirty, false)) {
      reach(flow);
    }
  }
  // NOLINTNEXTLINE(modernize-loop-convert): reaching a flow appends resources.
  for (std::size_t next = 0; next < component_resources_.size(); ++next) {
    for (const FlowId flow : resources_[component_resources_[next].index()].flows) {
      reach(flow);
    }
  }
}

void FairShares::reach(FlowId flow) {
  Flow& reached = flows_[flow.index()];
  if (std::exchange(reached.reached, true)) {
    return;
  }
  component_flows_.push_back(flow);
  for (const Use& use : reached.demand.uses) {
    Resource& resource = resources_[use.resource.index()];
    if (!std::exchange(resource.reached, true)) {
      component_resources_.push_back(use.resource);
    }
  }
}

// Every flow's rate grows as its weight, from nothing; the level is rate over weight. Whoever meets
// a full resource, or its own cap, is settled there; the others grow on.
void FairShares::fill() {
  for (const ResourceId id : component_resources_) {
    Resource& resource = resources_[id.index()];
    resource.left = resource.capacity;
    resource.demand = 0;
    resource.unsettled = static_cast<std::int32_t>(resource.flows.size());
  }
  // In order of ids, so that sums are the same whatever was reached first.
  std::ranges::sort(component_flows_);
  for (const FlowId id : component_flows_) {
    Flow& flow = flows_[id.index()];
    flow.settled = false;
    for (const Use& use : flow.demand.uses) {
      resources_[use.resource.index()].demand += use.amount * flow.demand.weight;
    }
  }
  for (std::size_t settled = 0; settled < component_flows_.size();) {
    const double level = next_level();
    // All of a level first: what one of its flows leaves must not make room for another.
    settling_.clear();
    for (const FlowId id : component_flows_) {
      if (settles_at(flows_[id.index()], level)) {
        settling_.push_back(id);
      }
    }
    EPLB_ASSERT(!settling_.empty());
    for (const FlowId id : settling_) {
      settle(id, level);
    }
    settled += settling_.size();
  }
}

bool FairShares::settles_at(const Flow& flow, double level) const {
  if (flow.settled) {
    return false;
  }
  if (flow.demand.cap > 0 && flow.demand.cap <= flow.demand.weight * level * kSameLevel) {
    return true;
  }
  return std::ranges::any_of(flow.demand.uses, [&](const Use& use) {
    const Resource& resource = resources_[use.resource.index()];
    return resource.left <= resource.demand * level * kSameLevel;
  });
}

double FairShares::next_level() const {
  double level = std::numeric_limits<double>::infinity();
  for (const ResourceId id : component_resources_) {
    const Resource& resource = resources_[id.index()];
    if (resource.unsettled > 0) {
      level = std::min(level, std::max(resource.left, 0.0) / resource.demand);
    }
  }
  for (const FlowId id : component_flows_) {
    const Flow& flow = flows_[id.index()];
    if (!flow.settled && flow.demand.cap > 0) {
      level = std::min(level, flow.demand.cap / flow.demand.weight);
    }
  }
  return level;
}

void FairShares::settle(FlowId id, double level) {
  Flow& flow = flows_[id.index()];
  const double full_rate = flow.demand.weight * level;
  const double rate = flow.demand.cap > 0 ? std::min(flow.demand.cap, full_rate) : full_rate;
  flow.settled = true;
  for (const Use& use : flow.demand.uses) {
    Resource& resource = resources_[use.resource.index()];
    resource.left -= use.amount * rate;
    resource.demand -= use.amount * flow.demand.weight;
    --resource.unsettled;
  }
  if (rate != flow.rate) {
    flow.rate = rate;
    changed_.push_back(id);
  }
}

double FairShares::taken(ResourceId resource) const {
  double sum = 0;
  for (const FlowId id : resources_[resource.index()].flows) {
    const Flow& flow = flows_[id.index()];
    for (const Use& use : flow.demand.uses) {
      sum += use.resource == resource ? use.amount * flow.rate : 0;
    }
  }
  return sum;
}

}  // namespace eplb::sim
