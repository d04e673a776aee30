#include <nccl_device.h>

#include "nccl_window.hpp"

namespace eplb::gpu {
namespace {

__global__ void window_addresses_kernel(ncclWindow_t window, std::byte** addresses, int count) {
  for (int rank = 0; rank < count; ++rank) {
    addresses[rank] = static_cast<std::byte*>(ncclGetLsaPointer(window, 0, rank));
  }
}

}  // namespace

cudaError_t write_window_addresses(ncclWindow_t window, std::byte** addresses, int count,
                                   cudaStream_t stream) {
  window_addresses_kernel<<<1, 1, 0, stream>>>(window, addresses, count);
  return cudaGetLastError();
}

}  // namespace eplb::gpu
