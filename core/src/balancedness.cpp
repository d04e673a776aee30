#include "eplb/core/balancedness.hpp"

#include <algorithm>

namespace eplb {
namespace {

template <typename Matrix>
Balancedness measure(const Matrix& rank_loads) {
  double mean_sum = 0;
  double max_sum = 0;
  double worst = 1;
  for (Eigen::Index layer = 0; layer < rank_loads.rows(); ++layer) {
    const double mean =
        static_cast<double>(rank_loads.row(layer).sum()) / static_cast<double>(rank_loads.cols());
    const auto max = static_cast<double>(rank_loads.row(layer).maxCoeff());
    mean_sum += mean;
    max_sum += max;
    if (max > 0) {
      worst = std::min(worst, mean / max);
    }
  }
  return max_sum > 0 ? Balancedness{mean_sum / max_sum, worst, mean_sum, max_sum} : Balancedness{};
}

}  // namespace

Balancedness balancedness(const RankLoadMatrix& rank_loads) {
  return measure(rank_loads);
}

Balancedness balancedness(const RealLoadMatrix& rank_loads) {
  return measure(rank_loads);
}

Imbalance imbalance(const RealLoadMatrix& rank_loads) {
  Imbalance result;
  double loaded_layers = 0;
  for (Eigen::Index layer = 0; layer < rank_loads.rows(); ++layer) {
    const double mean = rank_loads.row(layer).mean();
    if (mean > 0) {
      const double ratio = rank_loads.row(layer).maxCoeff() / mean;
      result.mean += ratio;
      result.max_layer = std::max(result.max_layer, ratio);
      loaded_layers += 1;
    }
  }
  result.mean = loaded_layers > 0 ? result.mean / loaded_layers : 0;
  return result;
}

}  // namespace eplb
