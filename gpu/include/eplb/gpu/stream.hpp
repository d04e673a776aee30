#pragma once

#include <cuda_runtime_api.h>

#include "eplb/gpu/unique_handle.hpp"

namespace eplb::gpu {

/// A stream that does not wait for the default stream.
class Stream {
 public:
  Stream();

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }

  /// Blocks the host until all that was enqueued has run. Not for the path of a step.
  void synchronize() const;

 private:
  UniqueHandle<cudaStream_t, cudaStreamDestroy> stream_;
};

/// A point in a stream. `Timing::kOn` costs a little and is for measurements alone.
class Event {
 public:
  enum class Timing : bool { kOff, kOn };

  explicit Event(Timing timing = Timing::kOff);

  [[nodiscard]] cudaEvent_t get() const { return event_.get(); }

  void record(cudaStream_t stream) const;

  /// Work enqueued to `stream` after this waits for the point. Waits for nothing if never recorded.
  void block(cudaStream_t stream) const;

  /// Whether the point has been passed; true if never recorded.
  [[nodiscard]] bool is_past() const;

  void synchronize() const;

 private:
  UniqueHandle<cudaEvent_t, cudaEventDestroy> event_;
};

/// Time between two recorded events that have both passed.
[[nodiscard]] double elapsed_us(const Event& begin, const Event& end);

}  // namespace eplb::gpu
