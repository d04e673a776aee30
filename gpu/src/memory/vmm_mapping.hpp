#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "eplb/core/result.hpp"
#include "eplb/gpu/memory/driver_api.hpp"

namespace eplb::gpu {

/// Owns a handle of physical memory, which a mapping keeps alive beyond it.
class VmmHandle {
 public:
  VmmHandle() = default;

  VmmHandle(const DriverApi& driver, CUmemGenericAllocationHandle value)
      : release_(driver.mem_release), value_(value) {}

  VmmHandle(VmmHandle&& other) noexcept
      : release_(std::exchange(other.release_, nullptr)), value_(other.value_) {}

  VmmHandle& operator=(VmmHandle&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(value_, other.value_);
    return *this;
  }

  VmmHandle(const VmmHandle&) = delete;
  VmmHandle& operator=(const VmmHandle&) = delete;
  ~VmmHandle();

  [[nodiscard]] CUmemGenericAllocationHandle get() const { return value_; }

 private:
  PFN_cuMemRelease_v10020 release_ = nullptr;
  CUmemGenericAllocationHandle value_ = 0;
};

/// Owns a range of addresses with physical memory behind it.
class VmmMapping {
 public:
  VmmMapping() = default;

  /// Maps all of a handle for reading and writing by `device`. kDevice if the driver refuses.
  [[nodiscard]] static Result<VmmMapping> map(const DriverApi& driver,
                                              CUmemGenericAllocationHandle handle,
                                              std::size_t bytes, int device);

  VmmMapping(VmmMapping&& other) noexcept { swap(other); }

  VmmMapping& operator=(VmmMapping&& other) noexcept {
    swap(other);
    return *this;
  }

  VmmMapping(const VmmMapping&) = delete;
  VmmMapping& operator=(const VmmMapping&) = delete;
  ~VmmMapping();

  [[nodiscard]] std::byte* base() const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver writes addresses as numbers.
    return reinterpret_cast<std::byte*>(address_);
  }

 private:
  void swap(VmmMapping& other) noexcept {
    std::swap(unmap_, other.unmap_);
    std::swap(free_, other.free_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_mapped_, other.is_mapped_);
  }

  PFN_cuMemUnmap_v10020 unmap_ = nullptr;
  PFN_cuMemAddressFree_v10020 free_ = nullptr;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
  bool is_mapped_ = false;
};

}  // namespace eplb::gpu
