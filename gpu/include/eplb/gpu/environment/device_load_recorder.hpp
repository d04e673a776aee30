#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/pass_recorder.hpp"

namespace eplb::gpu {

struct LoadRecorderOptions {
  Shape shape;
  bool counts_slots = false;  ///< Needed where passes are logged.
  int device = 0;
};

/// The load that this rank's forwards count on its device. Ends a pass with one kernel on the
/// stream of the forwards and reads it back beside them; to take one calls nothing of CUDA.
///
/// NOTE [passes under way] The host waits for the device in one case alone: it has enqueued
/// PassRecorder::kReadBacksMax forwards more than the device has run, and then it has nothing
/// better to do. Passes that land and are not taken meanwhile are put aside, in order.
class DeviceLoadRecorder final : public env::LoadRecorder {
 public:
  /// `forward` outlives it. Counts are cleared and the gate is shut.
  DeviceLoadRecorder(const LoadRecorderOptions& options, cudaStream_t forward);

  /// What the kernels of a forward count with.
  [[nodiscard]] const PassRecorder& passes() const { return passes_; }

  [[nodiscard]] bool counts_here() const override { return true; }

  void set_recording(bool recording) override;

  /// Throws std::logic_error if a pass is to be logged and slots are not counted; CudaError if the
  /// host has to wait (NOTE [passes under way]) and the device is not done within 10 s.
  void close_pass(std::int64_t step, env::PassUse use) override;

  [[nodiscard]] const env::RecordedPass* try_take() override;

  /// How often close_pass has had to wait, the wait under way included. For any thread.
  [[nodiscard]] std::int64_t wait_count() const { return wait_count_; }

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

 private:
  struct ClosedPass {
    std::int64_t step;
    env::PassUse use;
  };

  void make_room();
  [[nodiscard]] const env::RecordedPass* take_oldest();

  LoadRecorderOptions options_;
  cudaStream_t forward_;
  PassRecorder passes_;
  std::vector<ClosedPass> closed_;       ///< Neither taken nor put aside, oldest first.
  std::deque<env::RecordedPass> aside_;  ///< Older than those, oldest first.
  // What was handed out last. Kept to save allocations, one for each of the two sizes.
  env::RecordedPass logged_;
  env::RecordedPass unlogged_;
  env::RecordedPass from_aside_;
  std::atomic<std::int64_t> wait_count_ = 0;
};

}  // namespace eplb::gpu
