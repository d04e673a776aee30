#pragma once

#include <cstdint>

namespace eplb::gpu::device {

__device__ inline std::int64_t now_ns() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/// No wait in a kernel may be longer: one that never ends hangs a machine that others use.
inline constexpr std::int64_t kWaitLimitNs = 1'000'000'000;

/// Waits until so much time has passed since `begin_ns`, at most the limit.
__device__ inline void wait_until(std::int64_t begin_ns, std::int64_t duration_ns) {
  const std::int64_t bounded_ns = duration_ns < kWaitLimitNs ? duration_ns : kWaitLimitNs;
  while (now_ns() - begin_ns < bounded_ns) {
    __nanosleep(100);
  }
}

}  // namespace eplb::gpu::device
