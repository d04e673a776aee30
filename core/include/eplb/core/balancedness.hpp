#pragma once

#include <cstdint>

#include "eplb/core/load.hpp"

namespace eplb {

/// Tokens on each rank, [layers, ranks].
using RankLoadMatrix = LoadMatrix;

/// vLLM's measure of a step (eplb-semantics 3.2): sum over layers of the mean rank load, over the
/// sum of the largest. 1 is perfect, 0 means that there was no load.
struct Balancedness {
  double value = 0;
  double min_layer = 0;  ///< The worst loaded layer's own mean / max; 0 without load.
  double mean_load = 0;  ///< Of ranks, summed over layers.
  double max_load = 0;   ///< Of the busiest rank of each layer, summed over layers.
};

[[nodiscard]] Balancedness balancedness(const RankLoadMatrix& rank_loads);
[[nodiscard]] Balancedness balancedness(const RealLoadMatrix& rank_loads);

/// max / mean over ranks of a layer, averaged over loaded layers, and of the worst layer.
/// 1 is perfect; both 0 without load.
struct Imbalance {
  double mean = 0;
  double max_layer = 0;
};

[[nodiscard]] Imbalance imbalance(const RealLoadMatrix& rank_loads);

}  // namespace eplb
