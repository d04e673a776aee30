#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eplb::gpu::test {

/// How many stripes of counters kernels are tried with.
inline constexpr std::int32_t kStripesTried = 8;

/// Counters [stripes, size], added up over the stripes.
[[nodiscard]] inline std::vector<std::int32_t> folded(const std::vector<std::int32_t>& counts,
                                                      std::size_t size) {
  std::vector<std::int32_t> sums(size, 0);
  for (std::size_t index = 0; index < counts.size(); ++index) {
    sums[index % size] += counts[index];
  }
  return sums;
}

}  // namespace eplb::gpu::test
