#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "eplb/core/env/transport.hpp"
#include "eplb/gpu/memory/device_memory.hpp"

namespace eplb::gpu {

struct HostStagedOptions {
  int device = 0;
  std::int32_t rank_count = 0;
  std::int64_t chunk_bytes = 1 << 20;  ///< At least 4096, a multiple of it; equal on all ranks.
  std::int32_t chunks_in_flight = 4;   ///< Between two ranks, 1 to 12; equal on all ranks.
};

/// Rows through host memory that the ranks of one host share: each sender copies into it, each
/// receiver out of it, chunk by chunk, so that it works where GPUs cannot reach each other. It
/// needs `start` and `poll` to be called to get on.
class HostStagedTransport final : public env::Transport {
 public:
  /// Shared memory that all ranks together need.
  [[nodiscard]] static std::int64_t shared_bytes(const HostStagedOptions& options);

  /// `shared` is mapped by all ranks of the group, page-aligned, of shared_bytes, filled with zeros
  /// before the first of them starts, and outlives this. It is pinned for as long. kInvalidArgument
  /// for another size or options out of their ranges, kUnsupported if it cannot be pinned.
  [[nodiscard]] static Result<std::unique_ptr<HostStagedTransport>> create(
      const DeviceMemory& memory, RankId rank, std::span<std::byte> shared,
      const HostStagedOptions& options);

  ~HostStagedTransport() override;
  HostStagedTransport(const HostStagedTransport&) = delete;
  HostStagedTransport& operator=(const HostStagedTransport&) = delete;
  HostStagedTransport(HostStagedTransport&&) = delete;
  HostStagedTransport& operator=(HostStagedTransport&&) = delete;

  [[nodiscard]] env::TransportTraits traits() const override;
  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// All ranks must do so between the same two starts; see NOTE [mailbox generations].
  void cancel() override;

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

 private:
  struct State;
  explicit HostStagedTransport(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
