#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

#include "eplb/core/result.hpp"

namespace eplb::gpu {

/// Functions of the driver that the runtime has no counterpart of. They are looked up when asked
/// for, so that a program starts, and can say what is wrong, where there is no driver.
struct DriverApi {
  PFN_cuGetErrorName_v6000 get_error_name = nullptr;
  PFN_cuDeviceGetAttribute_v2000 device_get_attribute = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 mem_get_allocation_granularity = nullptr;
  PFN_cuMemCreate_v10020 mem_create = nullptr;
  PFN_cuMemRelease_v10020 mem_release = nullptr;
  PFN_cuMemAddressReserve_v10020 mem_address_reserve = nullptr;
  PFN_cuMemAddressFree_v10020 mem_address_free = nullptr;
  PFN_cuMemMap_v10020 mem_map = nullptr;
  PFN_cuMemUnmap_v10020 mem_unmap = nullptr;
  PFN_cuMemSetAccess_v10020 mem_set_access = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 mem_export = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 mem_import = nullptr;
  PFN_cuStreamWriteValue64_v11070 stream_write_value_64 = nullptr;

  /// kUnsupported, with the function's name, if the driver lacks one.
  [[nodiscard]] static Result<DriverApi> load();

  [[nodiscard]] std::string name_of(CUresult code) const;
};

}  // namespace eplb::gpu
