#pragma once

#include <cuda_runtime_api.h>

namespace eplb::gpu {

/// What every entry point does with its thread for as long as it runs: makes `device` current, and
/// lets CUDA calls through that an engine's stream capture in global mode would otherwise refuse,
/// and be lost by. Puts both back. Throws CudaError if there is no such device.
class DeviceEntry {
 public:
  explicit DeviceEntry(int device);
  ~DeviceEntry();
  DeviceEntry(const DeviceEntry&) = delete;
  DeviceEntry& operator=(const DeviceEntry&) = delete;
  DeviceEntry(DeviceEntry&&) = delete;
  DeviceEntry& operator=(DeviceEntry&&) = delete;

 private:
  int previous_device_ = 0;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace eplb::gpu
