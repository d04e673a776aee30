#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "checks.hpp"
#include "eplb/gpu/buffer.hpp"

namespace eplb::gpu::test {

/// What lies where nothing was written.
inline constexpr std::uint8_t kPoison = 0xA5;

/// Values behind an output that must still hold poison.
inline constexpr std::size_t kGuard = 64;

/// The buffer's head must hold `expected` and then poison.
template <typename T>
void expect_framed(Checks& checks, const DeviceBuffer<T>& buffer, const std::vector<T>& expected,
                   const std::string& what, cudaStream_t stream) {
  std::vector<T> frame = expected;
  T poison{};
  std::memset(&poison, kPoison, sizeof(T));
  frame.resize(expected.size() + kGuard, poison);
  std::vector<T> actual(frame.size());
  EPLB_CUDA(cudaMemcpyAsync(actual.data(), buffer.data(), actual.size() * sizeof(T),
                            cudaMemcpyDeviceToHost, stream));
  EPLB_CUDA(cudaStreamSynchronize(stream));
  checks.expect_equal<T>(actual, frame, what);
}

}  // namespace eplb::gpu::test
