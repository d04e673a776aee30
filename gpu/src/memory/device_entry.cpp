#include "eplb/gpu/memory/device_entry.hpp"

#include "eplb/gpu/error.hpp"

namespace eplb::gpu {

DeviceEntry::DeviceEntry(int device) {
  EPLB_CUDA(cudaGetDevice(&previous_device_));
  EPLB_CUDA(cudaSetDevice(device));
  EPLB_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_));
}

DeviceEntry::~DeviceEntry() {
  // Both fail only once the driver is gone or the device is broken, which the next call tells.
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
  static_cast<void>(cudaSetDevice(previous_device_));
}

}  // namespace eplb::gpu
