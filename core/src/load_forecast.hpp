#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/load.hpp"

namespace eplb {

/// Each expert's share of a layer's load, [experts]; they sum to 1.
using ShareRow = Eigen::RowVectorXd;

struct LayerForecast {
  ShareRow shares;  ///< What the forwards to come are expected to bring; zero without load.
  /// What past parts had beyond their forecasts of this kind, newest first; none where there is no
  /// past to tell. Loads drift together, and so did these; the first one leads to the newest part.
  std::vector<ShareRow> errors;
};

/// The mean of the newest n parts of the history, n a power of two: the n that would have foretold
/// the layer's past parts best, each from those before it; the larger if two are as good. A part
/// counts by its shares, however many steps it is a sum of. Sampling noise of the part that is
/// foretold is no error of the forecast, so errors are shrunk by its share in their squares.
[[nodiscard]] LayerForecast forecast_layer(std::span<const RealLoadMatrix> history,
                                           Eigen::Index layer);

}  // namespace eplb
