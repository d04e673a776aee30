#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "eplb/core/ids.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/result.hpp"

namespace eplb::placement {

/// The cells of a layer's load; a Ref of a row is always contiguous.
[[nodiscard]] inline std::span<const double> cells_of(const RealLoadRow& load) {
  return {load.data(), static_cast<std::size_t>(load.size())};
}

/// Sum of a layer's load in order of expert, so that every bound of a layer starts from the same
/// number. kInvalidArgument unless there are `expert_count` finite loads, none negative, with a
/// finite sum.
[[nodiscard]] Result<double> total_load(const RealLoadRow& load, std::int32_t expert_count);

/// Mean of a layer's figure over the layers of `load`, 0 without layers. kInvalidArgument unless
/// there are `layer_count` of them; else the first layer's error.
[[nodiscard]] Result<double> mean_over_layers(
    const RealLoadMatrix& load, std::int32_t layer_count,
    const std::function<Result<double>(LayerId layer)>& figure);

}  // namespace eplb::placement
