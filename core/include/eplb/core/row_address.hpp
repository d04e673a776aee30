#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"

namespace eplb {

/// Memory that all ranks of a group reserve alike: a layer's weights, or the landing rows.
using RegionId = StrongId<struct RegionTag>;

/// The rows that receive weights before their commit, one pool for all layers.
inline constexpr RegionId kLandingRegion{-1};

[[nodiscard]] constexpr RegionId weights_region(LayerId layer) {
  return RegionId{layer.value};
}

/// Where one expert's weights are or will be. A row is all tensors of one expert.
struct RowAddress {
  RegionId region;
  RankId rank;
  std::int32_t row;  ///< Local slot in a layer's weights; landing row in the pool.

  friend constexpr bool operator==(const RowAddress&, const RowAddress&) = default;
};

struct RowCopy {
  RowAddress source;
  RowAddress destination;

  friend constexpr bool operator==(const RowCopy&, const RowCopy&) = default;
};

}  // namespace eplb
