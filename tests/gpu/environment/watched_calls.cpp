#include "watched_calls.hpp"

#include <cuda_runtime_api.h>

#include <atomic>

namespace eplb::gpu::test {
namespace {

thread_local int step_path_depth = 0;
std::atomic<std::int64_t> call_count = 0;
std::atomic<const char*> first_call = nullptr;

void note(const char* call) {
  if (step_path_depth > 0) {
    ++call_count;
    const char* none = nullptr;
    first_call.compare_exchange_strong(none, call);
  }
}

}  // namespace

OnStepPath::OnStepPath() {
  ++step_path_depth;
}

OnStepPath::~OnStepPath() {
  --step_path_depth;
}

std::int64_t watched_call_count() {
  return call_count;
}

std::string first_watched_call() {
  const char* const call = first_call;
  return call == nullptr ? "" : call;
}

}  // namespace eplb::gpu::test

// The linker sends calls of X to __wrap_X, and calls of __real_X to the runtime's X.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's own names.
#define EPLB_WATCH(name, parameters, arguments)     \
  extern "C" cudaError_t __real_##name parameters;  \
  extern "C" cudaError_t __wrap_##name parameters;  \
  extern "C" cudaError_t __wrap_##name parameters { \
    eplb::gpu::test::note(#name);                   \
    return __real_##name arguments;                 \
  }

EPLB_WATCH(cudaStreamSynchronize, (cudaStream_t stream), (stream))
EPLB_WATCH(cudaDeviceSynchronize, (), ())
EPLB_WATCH(cudaEventSynchronize, (cudaEvent_t event), (event))
EPLB_WATCH(cudaMalloc, (void** memory, std::size_t bytes), (memory, bytes))
EPLB_WATCH(cudaFree, (void* memory), (memory))
EPLB_WATCH(cudaHostAlloc, (void** memory, std::size_t bytes, unsigned flags),
           (memory, bytes, flags))
EPLB_WATCH(cudaFreeHost, (void* memory), (memory))
EPLB_WATCH(cudaMallocHost, (void** memory, std::size_t bytes), (memory, bytes))
EPLB_WATCH(cudaHostRegister, (void* memory, std::size_t bytes, unsigned flags),
           (memory, bytes, flags))
EPLB_WATCH(cudaMemcpy,
           (void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind),
           (destination, source, bytes, kind))
EPLB_WATCH(cudaMemset, (void* memory, int value, std::size_t bytes), (memory, value, bytes))

#undef EPLB_WATCH
// NOLINTEND(bugprone-reserved-identifier)
