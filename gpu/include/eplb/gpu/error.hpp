#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace eplb::gpu {

/// Where a call stands, as the preprocessor knows it.
struct CallSite {
  const char* file;
  int line;
};

/// A CUDA call that failed: its text, the code's name and the place, all in what().
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, CallSite site);

  [[nodiscard]] cudaError_t code() const { return code_; }

  [[nodiscard]] const std::string& call() const { return call_; }

  [[nodiscard]] CallSite site() const { return site_; }

 private:
  std::string call_;
  CallSite site_;
  cudaError_t code_;
};

/// Throws CudaError unless `code` is success.
void check_cuda(cudaError_t code, const char* call, CallSite site);

/// For destructors, which never throw: a failed release is told to stderr. A driver that is already
/// unloading has released everything itself.
void report_failed_release(cudaError_t code, const char* call) noexcept;

}  // namespace eplb::gpu

/// Evaluates a CUDA runtime call once and throws CudaError if it fails.
#define EPLB_CUDA(expr) ::eplb::gpu::check_cuda((expr), #expr, {__FILE__, __LINE__})
