#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "eplb/core/env/queue.hpp"
#include "eplb/core/result.hpp"
#include "eplb/gpu/memory/device_memory.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/copy_batch.hpp"
#include "eplb/gpu/transport/timeline.hpp"

namespace eplb::gpu {

/// How a queue copies within the device.
///
/// NOTE [local copies] A commit stands between two forwards, where all multiprocessors are idle and
/// each microsecond of the host counts: one kernel takes all pieces of a step, in its parameters,
/// so that neither a ring of descriptors has to be freed nor anything is read over the link.
/// Copies beside the forwards go to copy engines, in a batch, and take no multiprocessor from them.
enum class LocalCopies : std::uint8_t {
  kKernel,
  kCopyEngines,
};

struct StreamQueueOptions {
  int device = 0;
  LocalCopies local_copies = LocalCopies::kKernel;
};

/// A stream as the core's queue. The first operation that fails makes it and all later ones fail.
class StreamQueue final : public env::Queue {
 public:
  /// Both outlive the queue. The stream may be an engine's, but not the legacy default one, which
  /// waits for all others: std::invalid_argument.
  StreamQueue(const DeviceMemory& memory, cudaStream_t stream, const StreamQueueOptions& options);

  void copy(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Ticket signal() override;

  /// `other` must be a StreamQueue of the same process: std::invalid_argument.
  void wait(const env::Queue& other, env::Ticket ticket) override;

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

  /// What made the queue fail, if something did.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void fail_with(Error error);
  [[nodiscard]] const Event& event_of(env::Ticket ticket) const;

  const DeviceMemory& memory_;
  cudaStream_t stream_;
  StreamQueueOptions options_;
  Timeline timeline_;
  std::vector<Event> events_;  ///< A ring, by ticket.
  std::vector<CopyPiece> pieces_;
  CopyBatch batch_;
  std::optional<Error> failure_;
};

}  // namespace eplb::gpu
