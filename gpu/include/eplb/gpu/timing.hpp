#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "eplb/gpu/buffer.hpp"

namespace eplb::gpu {

/// Holds a stream until the host opens it, so that what is timed behind it is enqueued in full
/// before it runs, and the cost of enqueueing stays out of the figure.
///
/// NOTE [gate limit] A kernel that waits without a limit can hang a machine that others use, so
/// the gate gives up after `limit_ns`, lets the stream go and remembers that it did.
class Gate {
 public:
  static constexpr std::int64_t kLimitNs = 2'000'000'000;

  explicit Gate(std::int64_t limit_ns = kLimitNs);

  /// Closes the gate and enqueues the wait. Whatever runs behind it must have run once before:
  /// loading a kernel waits for the device, and the device would wait for the gate.
  void close(cudaStream_t stream);

  void open();

  /// Whether the last wait ran into its limit. Only after the stream is synchronized.
  [[nodiscard]] bool gave_up() const;

 private:
  struct State {
    std::int32_t is_open;
    std::int32_t gave_up;
  };

  PinnedBuffer<State> state_;
  std::int64_t limit_ns_;
};

struct TimingOptions {
  int launches_per_sample = 100;  ///< In one graph; the graph's own start is spread over them.
  int sample_count = 31;
  int warmup_count = 3;  ///< Replays before the first sample.
};

/// Time of one launch behind another, over the samples.
struct Timing {
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int sample_count = 0;
};

/// Replays a graph of launches behind a gate between two events. `enqueue` puts one launch on the
/// stream; all launches of a sample depend on each other, as those of a forward do. Throws
/// std::runtime_error if the gate gave up, since the figure would then hold the enqueueing.
[[nodiscard]] Timing time_launches(const std::function<void(cudaStream_t)>& enqueue,
                                   const TimingOptions& options = {});

/// A kernel that does nothing: what any launch costs in this harness.
void launch_nothing(cudaStream_t stream);

}  // namespace eplb::gpu
