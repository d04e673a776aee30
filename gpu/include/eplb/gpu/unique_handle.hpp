#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu {

/// Owns a handle of the CUDA runtime, which `Release` gives back. Move-only; empty if moved from.
template <typename Handle, cudaError_t (*Release)(Handle)>
class UniqueHandle {
 public:
  UniqueHandle() = default;

  explicit UniqueHandle(Handle handle) : handle_(handle) {}

  UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}

  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;

  ~UniqueHandle() {
    if (handle_ != Handle{}) {
      report_failed_release(Release(handle_), "release of a CUDA handle");
    }
  }

  [[nodiscard]] Handle get() const { return handle_; }

 private:
  Handle handle_{};
};

}  // namespace eplb::gpu
