#pragma once

#include <cstddef>

namespace eplb::placement {

/// By products alone, so that every machine gets the same bits.
[[nodiscard]] inline double whole_power(double base, std::size_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    result *= exponent % 2 == 1 ? base : 1;
    base *= base;
  }
  return result;
}

}  // namespace eplb::placement
