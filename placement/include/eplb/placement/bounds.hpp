#pragma once

#include <algorithm>

#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::placement {

/// Below which no placement of one layer can bring its largest rank load, in tokens.
struct LayerBound {
  double mean_rank_load = 0;
  /// Largest load of a replica under the best allocation of all slots, each expert at least one,
  /// when an expert's load splits evenly.
  double least_largest_replica = 0;

  [[nodiscard]] double value() const { return std::max(mean_rank_load, least_largest_replica); }
};

// All below: loads are tokens, finite and not negative, and so must be their sum; else, or where
// load and shape differ in size, kInvalidArgument.

/// Both bounds of one layer; `load` is [experts].
[[nodiscard]] Result<LayerBound> layer_bound(const RealLoadRow& load, const Shape& shape);

/// Mean over layers of LayerBound::value(), 0 without layers; `load` is [layers, experts].
[[nodiscard]] Result<double> bound(const RealLoadMatrix& load, const Shape& shape);

/// Least possible largest rank load of one layer when each expert's load, [experts], may be split
/// freely over the ranks that hold a replica: the largest, over sets S of experts, of
/// load(S) / ranks that hold any of S. ExactSplit finds it in units of the layer's load / 2^60, so
/// but for the rounding of a double it is off by less than (experts + 1) x 2^-60 of that load.
/// Never below LayerBound::value().
[[nodiscard]] Result<double> layer_bound_split(const RealLoadRow& load,
                                               const LayerPlacement& placement);

/// Mean over layers of layer_bound_split, 0 without layers; `load` is [layers, experts].
[[nodiscard]] Result<double> bound_split(const RealLoadMatrix& load, const Placement& placement);

}  // namespace eplb::placement
