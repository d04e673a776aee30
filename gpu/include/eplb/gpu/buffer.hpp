#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/unique_handle.hpp"

namespace eplb::gpu {

/// Device memory for `size()` values at an address that stays. At least 256-byte aligned, not
/// initialised. The copies below are ordered on a stream and block the host until done: they are
/// for set-up and tests, not for the path of a step.
template <typename T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    void* data = nullptr;
    if (size > 0) {
      EPLB_CUDA(cudaMalloc(&data, bytes()));
    }
    data_ = UniqueHandle<void*, cudaFree>(data);
  }

  [[nodiscard]] T* data() const { return static_cast<T*>(data_.get()); }

  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  /// Sets every byte, ordered on the stream; the host does not wait.
  void fill_bytes(std::uint8_t value, cudaStream_t stream) const {
    EPLB_CUDA(cudaMemsetAsync(data(), value, bytes(), stream));
  }

  void upload(std::span<const T> values, cudaStream_t stream) const {
    if (!values.empty()) {
      EPLB_CUDA(cudaMemcpyAsync(data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                                stream));
    }
    EPLB_CUDA(cudaStreamSynchronize(stream));
  }

  [[nodiscard]] std::vector<T> download(cudaStream_t stream) const {
    std::vector<T> values(size_);
    if (size_ > 0) {
      EPLB_CUDA(cudaMemcpyAsync(values.data(), data(), bytes(), cudaMemcpyDeviceToHost, stream));
    }
    EPLB_CUDA(cudaStreamSynchronize(stream));
    return values;
  }

 private:
  UniqueHandle<void*, cudaFree> data_;
  std::size_t size_;
};

/// Page-locked host memory for `size()` values, which the device reads and writes directly at the
/// same address. Zeroed.
template <typename T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    void* data = nullptr;
    if (size > 0) {
      EPLB_CUDA(cudaHostAlloc(&data, size * sizeof(T), cudaHostAllocMapped));
    }
    data_ = UniqueHandle<void*, cudaFreeHost>(data);
    for (T& value : span()) {
      value = T{};
    }
  }

  [[nodiscard]] T* data() const { return static_cast<T*>(data_.get()); }

  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::span<T> span() const { return {data(), size_}; }

 private:
  UniqueHandle<void*, cudaFreeHost> data_;
  std::size_t size_;
};

/// Device memory, and what the host has fetched of it. For what kernels add up: over the host's
/// link every addition would be a trip of its own.
template <typename T>
class FetchedBuffer {
 public:
  explicit FetchedBuffer(std::size_t size) : device_(size), host_(size) {}

  /// Of the device.
  [[nodiscard]] T* data() const { return device_.data(); }

  [[nodiscard]] std::size_t size() const { return device_.size(); }

  /// Zeroes the device's, in the stream's order.
  void clear(cudaStream_t stream) const { device_.fill_bytes(0, stream); }

  /// Copies all of it to the host, in the stream's order.
  void fetch(cudaStream_t stream) const {
    if (size() > 0) {
      EPLB_CUDA(cudaMemcpyAsync(host_.data(), device_.data(), device_.bytes(),
                                cudaMemcpyDeviceToHost, stream));
    }
  }

  /// As last fetched; whole once the stream is known to have run.
  [[nodiscard]] std::span<const T> fetched() const { return host_.span(); }

 private:
  DeviceBuffer<T> device_;
  PinnedBuffer<T> host_;
};

}  // namespace eplb::gpu
