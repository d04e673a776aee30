#include "eplb/gpu/memory/driver_api.hpp"

#include <cuda_runtime_api.h>

namespace eplb::gpu {
namespace {

/// The version whose signatures DriverApi has.
constexpr unsigned kDriverVersion = 12000;

/// Looks functions up one by one and remembers the first that is missing.
class Lookup {
 public:
  template <typename Function>
  Lookup& find(const char* name, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t code =
        cudaGetDriverEntryPointByVersion(name, &found, kDriverVersion, cudaEnableDefault, &status);
    const bool is_there =
        code == cudaSuccess && status == cudaDriverEntryPointSuccess && found != nullptr;
    if (is_there) {
      function = reinterpret_cast<Function>(found);
    } else if (missing_.empty()) {
      missing_ = name;
    }
    return *this;
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
};

}  // namespace

Result<DriverApi> DriverApi::load() {
  DriverApi api;
  Lookup lookup;
  lookup.find("cuGetErrorName", api.get_error_name)
      .find("cuDeviceGetAttribute", api.device_get_attribute)
      .find("cuMemGetAllocationGranularity", api.mem_get_allocation_granularity)
      .find("cuMemCreate", api.mem_create)
      .find("cuMemRelease", api.mem_release)
      .find("cuMemAddressReserve", api.mem_address_reserve)
      .find("cuMemAddressFree", api.mem_address_free)
      .find("cuMemMap", api.mem_map)
      .find("cuMemUnmap", api.mem_unmap)
      .find("cuMemSetAccess", api.mem_set_access)
      .find("cuMemExportToShareableHandle", api.mem_export)
      .find("cuMemImportFromShareableHandle", api.mem_import)
      .find("cuStreamWriteValue64", api.stream_write_value_64);
  if (!lookup.missing().empty()) {
    return fail(ErrorCode::kUnsupported,
                "the CUDA driver has no " + lookup.missing() + " (12.0 or later is needed)");
  }
  return api;
}

std::string DriverApi::name_of(CUresult code) const {
  const char* name = nullptr;
  if (get_error_name(code, &name) != CUDA_SUCCESS || name == nullptr) {
    return "error " + std::to_string(static_cast<int>(code));
  }
  return name;
}

}  // namespace eplb::gpu
