#include "eplb/gpu/stream.hpp"

namespace eplb::gpu {

Stream::Stream() {
  cudaStream_t stream = nullptr;
  EPLB_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_ = UniqueHandle<cudaStream_t, cudaStreamDestroy>(stream);
}

void Stream::synchronize() const {
  EPLB_CUDA(cudaStreamSynchronize(get()));
}

Event::Event(Timing timing) {
  cudaEvent_t event = nullptr;
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  EPLB_CUDA(cudaEventCreateWithFlags(&event, flags));
  event_ = UniqueHandle<cudaEvent_t, cudaEventDestroy>(event);
}

void Event::record(cudaStream_t stream) const {
  EPLB_CUDA(cudaEventRecord(get(), stream));
}

void Event::block(cudaStream_t stream) const {
  EPLB_CUDA(cudaStreamWaitEvent(stream, get(), 0));
}

bool Event::is_past() const {
  const cudaError_t status = cudaEventQuery(get());
  if (status == cudaErrorNotReady) {
    return false;
  }
  EPLB_CUDA(status);
  return true;
}

void Event::synchronize() const {
  EPLB_CUDA(cudaEventSynchronize(get()));
}

double elapsed_us(const Event& begin, const Event& end) {
  float elapsed_ms = 0;
  EPLB_CUDA(cudaEventElapsedTime(&elapsed_ms, begin.get(), end.get()));
  return static_cast<double>(elapsed_ms) * 1000.0;
}

}  // namespace eplb::gpu
