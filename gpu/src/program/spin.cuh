#pragma once

#include <cstdint>

#include "eplb/gpu/device/bounded_wait.cuh"

namespace eplb::gpu::program {

/// Reads a word that others write, past all caches that could keep it old.
__device__ inline std::int32_t load_now(const std::int32_t* word) {
  return *static_cast<const volatile std::int32_t*>(word);
}

/// Makes a word seen by the host and by other GPUs, after all that was written before.
__device__ inline void publish(std::int32_t* word, std::int32_t value) {
  __threadfence_system();
  *static_cast<volatile std::int32_t*>(word) = value;
}

/// Polls until `is_met`, or until `deadline_ns` of %globaltimer. Whether it was met.
template <typename IsMet>
__device__ bool spin_until(IsMet is_met, std::int64_t deadline_ns) {
  constexpr unsigned kPauseNs = 200;
  while (!is_met()) {
    if (device::now_ns() > deadline_ns) {
      return false;
    }
    __nanosleep(kPauseNs);
  }
  return true;
}

}  // namespace eplb::gpu::program
