#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

namespace eplb {

/// Tokens assigned, [layers, logical experts]. Counts are exact; a sum over 2^63 is a caller's bug.
using LoadMatrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Load as policies take it, [layers, logical experts]: any finite numbers that are not negative.
using RealLoadMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Past parts of the load window, summed over ranks, oldest first.
using LoadHistory = std::vector<std::shared_ptr<const RealLoadMatrix>>;

/// One layer's load, [logical experts].
using RealLoadRow = Eigen::Ref<const Eigen::Matrix<double, 1, Eigen::Dynamic, Eigen::RowMajor>>;

}  // namespace eplb
