#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "eplb/core/ids.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/stream.hpp"

namespace eplb::gpu {

/// The counts of a pass on their way to the host: what the kernels of a forward add to, the step
/// kernel that hands it over, and the read-back on a side stream that the forward never waits for
/// unless a read-back is a whole step late. See NOTE [pass buffers].
class PassRecorder {
 public:
  struct Options {
    Shape shape;
    bool counts_slots = false;  ///< Also count by slot, and hand over the ranks' loads.
  };

  /// What becomes of a pass that ends.
  enum class Ending : bool {
    kDrop,  ///< A dummy step: its counts are cleared and not read.
    kRead,
  };

  /// Counts are cleared and the gate is shut.
  PassRecorder(const Options& options, cudaStream_t stream);

  // Device addresses for MapArguments; they stay.
  [[nodiscard]] const std::int32_t* record_gate() const { return gate_.data(); }

  [[nodiscard]] std::int32_t* logical_counts(LayerId layer) const;

  /// Null unless slots are counted.
  [[nodiscard]] std::int32_t* slot_counts(LayerId layer) const;

  /// Opens or shuts the gate for the forwards enqueued after this. Free unless it flips.
  void set_recording(bool is_recording, cudaStream_t stream);

  /// Ends the pass of the forward just enqueued: one kernel on its stream, and on the side stream
  /// the read-back, if any. The values of the read-back before are gone then.
  void end_pass(Ending ending, cudaStream_t stream);

  /// Whether the last read-back has arrived. Never blocks.
  [[nodiscard]] bool is_read() const { return read_.is_past(); }

  /// Blocks the host until it has. Not for the path of a step.
  void wait_read() const { read_.synchronize(); }

  /// [layers, experts], once read.
  [[nodiscard]] std::span<const std::int32_t> read_counts() const { return host_counts_.span(); }

  /// [layers, ranks], once read; empty unless slots are counted.
  [[nodiscard]] std::span<const std::int32_t> read_rank_loads() const {
    return host_rank_loads_.span();
  }

 private:
  void read_back() const;

  Shape shape_;
  DeviceBuffer<std::int32_t> gate_;
  DeviceBuffer<std::int32_t> pass_counts_;
  DeviceBuffer<std::int32_t> snapshot_counts_;
  DeviceBuffer<std::int32_t> pass_slot_counts_;
  DeviceBuffer<std::int32_t> rank_loads_;
  PinnedBuffer<std::int32_t> host_counts_;
  PinnedBuffer<std::int32_t> host_rank_loads_;
  Event handed_over_;
  Event read_;
  bool is_recording_ = false;
  // Last, so that it goes first: the copies it runs use everything above.
  Stream side_;
};

}  // namespace eplb::gpu
