#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace eplb::placement {

template <typename Real>
using BitsOf = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

/// Whole numbers in the order of `value`, which is neither negative nor NaN: the bits of such
/// numbers are ordered as they are. Adding zero makes a negative zero positive.
template <typename Real>
[[nodiscard]] BitsOf<Real> ordered_bits(Real value) {
  return std::bit_cast<BitsOf<Real>>(value + Real{0});
}

}  // namespace eplb::placement
