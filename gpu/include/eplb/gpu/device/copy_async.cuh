#pragma once

#include <cstdint>

namespace eplb::gpu::device {

/// Copies `kBytes` (4, 8 or 16, both sides aligned to them) from global to shared memory without
/// registers and without waiting. Whole 16-byte copies pass the L1 by.
template <int kBytes>
__device__ inline void copy_async(void* shared, const void* global) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const std::size_t from = __cvta_generic_to_global(global);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes)
                 : "memory");
  }
}

/// Waits for the thread's own copies; others' need a barrier after it.
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace eplb::gpu::device
