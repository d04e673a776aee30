#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eplb::sim {

/// Something of a cluster that has a rate and is shared: a port, a memory, a network card.
struct ResourceId {
  std::int32_t value = -1;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend auto operator<=>(const ResourceId&, const ResourceId&) = default;

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(value); }
};

/// What one unit of a flow takes of a resource, in the resource's units.
struct Use {
  ResourceId resource;
  double amount = 0;
};

/// What a flow asks for. Rates are in units of the flow per ns.
struct Demand {
  std::vector<Use> uses;  ///< At most one a resource; amounts are positive.
  double cap = 0;         ///< The flow's own highest rate; 0 if it has none.
  double weight = 1;      ///< Rates of flows that meet at a full resource are as their weights.
};

struct FlowId {
  std::int32_t value = -1;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend auto operator<=>(const FlowId&, const FlowId&) = default;

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(value); }
};

/// Weighted max-min fair rates: no flow can gain but at the cost of one that has no more for its
/// weight. Solved by progressive filling, and only over the flows and resources that hang together
/// with what has changed since the last solve.
class FairShares {
 public:
  /// `capacity` is in the resource's units per ns, not negative.
  ResourceId add_resource(double capacity);
  void set_capacity(ResourceId resource, double capacity);

  /// A flow needs a use or a cap, else nothing bounds it. Ids of removed flows come again.
  FlowId add(Demand demand);
  void remove(FlowId flow);

  /// Brings all rates up to date; returns the flows whose rate is another one now, in order of ids.
  std::span<const FlowId> solve();

  /// As of the last solve.
  [[nodiscard]] double rate(FlowId flow) const { return flows_[flow.index()].rate; }

  [[nodiscard]] const Demand& demand(FlowId flow) const { return flows_[flow.index()].demand; }

  [[nodiscard]] double capacity(ResourceId resource) const {
    return resources_[resource.index()].capacity;
  }

  /// What the flows take of it, as of the last solve.
  [[nodiscard]] double taken(ResourceId resource) const;

 private:
  struct Resource {
    double capacity = 0;
    std::vector<FlowId> flows = {};
    bool dirty = false;    ///< Changed since the last solve.
    bool reached = false;  ///< Part of what is being solved.
    // While it is filled:
    double left = 0;    ///< Of the capacity, after flows that are settled.
    double demand = 0;  ///< What all flows that are not take per level.
    std::int32_t unsettled = 0;
  };

  struct Flow {
    Demand demand;
    double rate = 0;
    bool live = false;
    bool dirty = false;
    bool reached = false;
    bool settled = false;
  };

  void touch(ResourceId resource);
  void reach_component();
  void reach(FlowId flow);
  void fill();
  [[nodiscard]] double next_level() const;
  [[nodiscard]] bool settles_at(const Flow& flow, double level) const;
  void settle(FlowId flow, double level);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<ResourceId> dirty_resources_;
  std::vector<FlowId> dirty_flows_;
  // The component at hand.
  std::vector<ResourceId> component_resources_;
  std::vector<FlowId> component_flows_;
  std::vector<FlowId> settling_;
  std::vector<FlowId> changed_;
};

}  // namespace eplb::sim
