#include "vmm_mapping.hpp"

#include <cstdio>
#include <mutex>
#include <string>

namespace eplb::gpu {
namespace {

/// NOTE [one mapping at a time] Ranks that share a process end at once. Driver 580 then
/// dereferences what another thread's cuMemUnmap has just taken away, now and then, and takes the
/// process with it. So maps and unmaps of a process go one after another; none is on the path of a
/// step.
std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

void report(CUresult code, const char* call) {
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_DEINITIALIZED) {
    std::fprintf(stderr, "%s: error %d\n", call, static_cast<int>(code));
  }
}

}  // namespace

VmmHandle::~VmmHandle() {
  if (release_ != nullptr) {
    const std::lock_guard lock(one_at_a_time());
    report(release_(value_), "cuMemRelease");
  }
}

Result<VmmMapping> VmmMapping::map(const DriverApi& driver, CUmemGenericAllocationHandle handle,
                                   std::size_t bytes, int device) {
  const auto refused = [&](const char* call, CUresult code) {
    return fail(ErrorCode::kDevice, std::string(call) + " of " + std::to_string(bytes) +
                                        " bytes: " + driver.name_of(code));
  };
  VmmMapping mapping;  // Before the lock, which its end takes itself.
  const std::lock_guard lock(one_at_a_time());
  CUresult code = driver.mem_address_reserve(&mapping.address_, bytes, 0, 0, 0);
  if (code != CUDA_SUCCESS) {
    return refused("cuMemAddressReserve", code);
  }
  mapping.unmap_ = driver.mem_unmap;
  mapping.free_ = driver.mem_address_free;
  mapping.bytes_ = bytes;
  code = driver.mem_map(mapping.address_, bytes, 0, handle, 0);
  if (code != CUDA_SUCCESS) {
    return refused("cuMemMap", code);
  }
  mapping.is_mapped_ = true;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  code = driver.mem_set_access(mapping.address_, bytes, &access, 1);
  if (code != CUDA_SUCCESS) {
    return refused("cuMemSetAccess", code);
  }
  return mapping;
}

VmmMapping::~VmmMapping() {
  if (free_ == nullptr) {
    return;
  }
  const std::lock_guard lock(one_at_a_time());
  if (is_mapped_) {
    report(unmap_(address_, bytes_), "cuMemUnmap");
  }
  report(free_(address_, bytes_), "cuMemAddressFree");
}

}  // namespace eplb::gpu
