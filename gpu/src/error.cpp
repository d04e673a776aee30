#include "eplb/gpu/error.hpp"

#include <cstdio>

namespace eplb::gpu {
namespace {

std::string describe(cudaError_t code, const char* call, CallSite site) {
  return std::string(site.file) + ":" + std::to_string(site.line) + ": " + call + ": " +
         cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
}

}  // namespace

CudaError::CudaError(cudaError_t code, const char* call, CallSite site)
    : std::runtime_error(describe(code, call, site)), call_(call), site_(site), code_(code) {}

void check_cuda(cudaError_t code, const char* call, CallSite site) {
  if (code != cudaSuccess) {
    throw CudaError(code, call, site);
  }
}

void report_failed_release(cudaError_t code, const char* call) noexcept {
  if (code != cudaSuccess && code != cudaErrorCudartUnloading) {
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(code));
  }
}

}  // namespace eplb::gpu
