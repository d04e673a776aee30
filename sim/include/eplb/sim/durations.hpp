#pragma once

#include <cmath>
#include <cstdint>

namespace eplb::sim {

/// The nearest whole number of nanoseconds.
[[nodiscard]] inline std::int64_t ns_of_us(double us) {
  return std::llround(us * 1e3);
}

[[nodiscard]] inline std::int64_t ns_of_ms(double ms) {
  return std::llround(ms * 1e6);
}

}  // namespace eplb::sim
