#pragma once

#include <cstdint>

#include "eplb/core/row_address.hpp"

namespace eplb::test {

/// A slot of a layer's weights, from plain numbers.
[[nodiscard]] inline RowAddress weights_row(std::int32_t rank, std::int32_t layer,
                                            std::int32_t slot) {
  return {.region = weights_region(LayerId{layer}), .rank = RankId{rank}, .row = slot};
}

/// A row of a rank's landing pool.
[[nodiscard]] inline RowAddress landing_row(std::int32_t rank, std::int32_t row) {
  return {.region = kLandingRegion, .rank = RankId{rank}, .row = row};
}

}  // namespace eplb::test
