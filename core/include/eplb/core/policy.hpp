#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "eplb/core/cost.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/migration_cost.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/topology.hpp"

namespace eplb {

/// Prices that a policy may weigh against each other.
struct PolicyCosts {
  ExpertLayerCost layer;
  double move_ns_per_expert = 0;  ///< One expert's weights across ranks.
  MigrationCost migration = {};   ///< What forwards lose to a migration.
};

/// All that a policy may look at. References outlive the call.
struct PolicyProblem {
  Shape shape;
  const Topology& topology;
  /// Load of past parts of the window, oldest first, each [layers, experts], finite, not negative.
  std::span<const RealLoadMatrix> history;
  /// The newest parts that make up one window; at most history.size().
  std::int32_t window_part_count = 1;
  const Placement* current = nullptr;  ///< What serves now; none before the first placement.
  PolicyCosts costs;
  /// Forwards that the newest window is a sum over, each by its weight where the window fades, so
  /// that window_load / window_steps is in tokens a step of the whole group; 0: not known.
  double window_steps = 0;
};

/// Sum of the newest window's parts, [layers, experts].
[[nodiscard]] RealLoadMatrix window_load(const PolicyProblem& problem);

/// A pure function from a problem to a placement. Every rank runs it alone on the same input, so it
/// must be deterministic: ties by lowest id, sums in a fixed order.
class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  PlacementPolicy(const PlacementPolicy&) = delete;
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;
  PlacementPolicy(PlacementPolicy&&) = delete;
  PlacementPolicy& operator=(PlacementPolicy&&) = delete;
  virtual ~PlacementPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// kInvalidArgument if the policy cannot serve the shape or the topology.
  [[nodiscard]] virtual Result<Placement> place(const PolicyProblem& problem) const = 0;
};

}  // namespace eplb
