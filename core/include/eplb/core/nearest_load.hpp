#pragma once

#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/topology.hpp"

namespace eplb {

/// How load falls where ranks take the nearest replicas (LayerMap::nearest).
struct NearestLoad {
  RealLoadMatrix rank_loads;  ///< [layers, ranks].
  double network_share = 0;   ///< Of all load, what leaves its NVLink domain; 0 without load.
};

/// Part of the ranks that each NVLink domain has, [domains].
[[nodiscard]] std::vector<double> domain_parts(const Topology& topology);

/// The experts' load, [layers, experts], in expectation: every rank brings the same part of each
/// expert's load, and it falls evenly on the replicas that the rank takes. `topology` is of the
/// placement's ranks.
[[nodiscard]] NearestLoad nearest_load(const Placement& placement, const RealLoadMatrix& load,
                                       const Topology& topology);

}  // namespace eplb
