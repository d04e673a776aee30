#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/env/completion.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/step.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/timeline.hpp"

namespace eplb::gpu {

/// The counts of passes on their way to the host: what the kernels of a forward add to, the step
/// kernel that hands them over, and the read-backs on a side stream. See NOTE [pass buffers].
///
/// NOTE [read-backs] Each read-back under way has a snapshot and pinned memory of its own, which
/// are used anew once the host has taken what they brought. So no stream waits for another but the
/// side stream for the pass, and whether a read-back has landed is a word in pinned memory, which
/// the host reads without asking the driver.
class PassRecorder {
 public:
  struct Options {
    Shape shape;
    bool counts_slots = false;  ///< Also count by slot.
  };

  /// Read-backs that may be under way or wait to be taken.
  static constexpr std::size_t kReadBacksMax = 4;

  /// What of a pass that ends is read back.
  enum class Reading : std::uint8_t {
    kNothing,  ///< Its counts are cleared.
    kLogical,
    kLogicalAndSlots,  ///< Without slots where none are counted.
  };

  /// A pass as the device counted it. Valid until it is taken off.
  struct Counts {
    std::span<const std::int32_t> logical;  ///< [layers, experts].
    std::span<const std::int32_t> slots;    ///< [layers, slots] if they were read, else empty,
    std::span<const std::int32_t> ranks;    ///< and their sums, [layers, ranks].
  };

  /// On the current device. Counts are cleared and the gate is shut.
  PassRecorder(const Options& options, cudaStream_t stream);

  // Device addresses for MapArguments; they stay.
  [[nodiscard]] const std::int32_t* record_gate() const { return gate_.data(); }

  [[nodiscard]] std::int32_t* logical_counts(LayerId layer) const;

  /// Of logical counts; see LayerMapping.
  static constexpr std::int32_t kStripes = kStripesMax;

  [[nodiscard]] std::int32_t stripe_stride() const {
    return static_cast<std::int32_t>(stripe_size_);
  }

  /// Null unless slots are counted.
  [[nodiscard]] std::int32_t* slot_counts(LayerId layer) const;

  /// Opens or shuts the gate for the forwards enqueued after this. Free unless it flips.
  void set_recording(bool is_recording, cudaStream_t stream);

  /// Whether another pass can be read back.
  [[nodiscard]] bool has_room() const { return under_way_ < kReadBacksMax; }

  /// Ends the pass of the forward just enqueued: at most one kernel on its stream, and on the side
  /// stream the read-back, if any. Throws std::logic_error if something is to be read and there is
  /// no room.
  void end_pass(Reading reading, cudaStream_t stream);

  /// The oldest read-back that was not taken off, once it has landed. Calls nothing of CUDA. Throws
  /// CudaError if it will never land.
  [[nodiscard]] std::optional<Counts> landed() const;

  /// Takes the oldest read-back off, which must have landed: std::logic_error.
  void take_off();

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check() { timeline_.check(); }

 private:
  struct ReadBack {
    explicit ReadBack(std::size_t counter_count) : snapshot(counter_count), host(counter_count) {}

    // [layers, experts] filled up to stripe_size_, [layers, slots], [layers, ranks].
    DeviceBuffer<std::int32_t> snapshot;
    PinnedBuffer<std::int32_t> host;
    env::Ticket ticket;
    bool has_slots = false;
  };

  void read_back(Reading reading, cudaStream_t stream);

  Shape shape_;
  std::size_t logical_size_;
  std::size_t stripe_size_;  ///< The logical counts and what fills them up to a multiple of four.
  std::size_t slots_size_;
  std::size_t ranks_size_;
  DeviceBuffer<std::int32_t> gate_;
  DeviceBuffer<std::int32_t> pass_counts_;  ///< [stripes][layers, experts], [layers, slots].
  std::vector<ReadBack> read_backs_;        ///< A ring.
  std::size_t oldest_ = 0;
  std::size_t under_way_ = 0;  ///< From the oldest on.
  Event handed_over_;
  bool is_recording_ = false;
  bool may_hold_counts_ = false;  ///< Since the pass was last cleared.
  // Behind the buffers, so that it goes before them: the copies it runs use them.
  Stream side_;
  Timeline timeline_;
};

}  // namespace eplb::gpu
