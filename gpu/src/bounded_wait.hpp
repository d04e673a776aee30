#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu {

/// The longest that the host waits for a device that has work of ours in front of it.
inline constexpr std::chrono::seconds kDeviceWaitMax{10};

/// Looks again and again until `is_over`, at most for kDeviceWaitMax. Throws CudaError after that,
/// in the words of `what`. Calls nothing of CUDA by itself.
template <typename IsOver>
void wait_for_device(const char* what, const IsOver& is_over) {
  constexpr std::chrono::microseconds kPause{20};
  const auto deadline = std::chrono::steady_clock::now() + kDeviceWaitMax;
  while (!is_over()) {
    if (std::chrono::steady_clock::now() > deadline) {
      check_cuda(cudaErrorNotReady, what, {__FILE__, __LINE__});
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace eplb::gpu
