#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "eplb/gpu/buffer.hpp"

namespace eplb::gpu::program {

struct GangOptions {
  int ctas = 0;  ///< 0: one an SM, on every SM of the device.
  int threads = 256;
  int smem_kb = 0;        ///< Of a CTA; 200 leaves no other kernel of 28 KB or more room beside it.
  int barrier_count = 1;  ///< Barriers of the grid, one after another.
  std::int64_t work_ns = 0;             ///< What each CTA spins before each barrier.
  std::int64_t limit_ns = 500'000'000;  ///< Of all waiting of a launch; 1 s at most, 100 s under a
                                        ///< sanitizer.
};

/// What the launches of a gang did; whole when the stream is done.
struct GangReport {
  std::int64_t ended_count = 0;    ///< Launches that passed all their barriers.
  std::int32_t ran_out = 0;        ///< 1: a CTA waited at a barrier until the limit.
  std::int32_t arrived_count = 0;  ///< Of the barrier where that was, CTAs that had come.
};

/// A cooperative kernel whose CTAs are resident together and meet at barriers: what a fused expert
/// kernel is to the scheduler of a GPU. It belongs to the device that was current when it was made,
/// and its launches to one stream.
///
/// NOTE [gang limit] No barrier waits for longer than the limit. Once one has run out the counters
/// mean nothing any more, so that all CTAs leave, later launches too, and the report says so.
class Gang {
 public:
  /// Throws std::invalid_argument if the options are not legal or the CTAs cannot be resident
  /// together. Loads the kernel, which would otherwise wait for a GPU that waits.
  explicit Gang(const GangOptions& options);

  /// Enqueues one launch; a graph can capture it. The host does not wait.
  void launch(cudaStream_t stream) const;

  [[nodiscard]] GangReport report() const;

  [[nodiscard]] int cta_count() const { return options_.ctas; }

 private:
  GangOptions options_;
  DeviceBuffer<std::uint64_t> barrier_;  ///< CTAs that have come to all barriers so far.
  PinnedBuffer<GangReport> report_;
};

/// One launch of a gang, awaited: whether all barriers were passed within the limit.
[[nodiscard]] bool launch_gang(const GangOptions& options, cudaStream_t stream);

}  // namespace eplb::gpu::program
