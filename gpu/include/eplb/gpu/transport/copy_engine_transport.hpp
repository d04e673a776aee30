#pragma once

#include <cstdint>
#include <memory>

#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/transport.hpp"
#include "eplb/gpu/memory/device_memory.hpp"

namespace eplb::gpu {

struct CopyEngineOptions {
  int device = 0;
  std::int32_t pieces_per_batch = 16;  ///< Of one call of the driver; batches alternate over
                                       ///< `stream_count` streams, which hides what each costs.
  std::int32_t stream_count = 2;       ///< 1 or 2.
  double rate_limit_gb_per_s = 0;      ///< `copy_rate_limit_gb_per_s`, in 1e9 bytes; 0: none.
};

/// Pushes rows into the landing pools of other ranks with copy engines: no multiprocessor, no
/// kernel, nothing that waits on a device. With a limit, batches are spaced by the host's time, and
/// go out while `start` and `poll` are called.
class CopyEngineTransport final : public env::Transport {
 public:
  /// Memory and clock outlive it. std::invalid_argument for options out of their ranges.
  CopyEngineTransport(const DeviceMemory& memory, const env::Clock& clock,
                      const CopyEngineOptions& options);
  ~CopyEngineTransport() override;
  CopyEngineTransport(const CopyEngineTransport&) = delete;
  CopyEngineTransport& operator=(const CopyEngineTransport&) = delete;
  CopyEngineTransport(CopyEngineTransport&&) = delete;
  CopyEngineTransport& operator=(CopyEngineTransport&&) = delete;

  [[nodiscard]] env::TransportTraits traits() const override;
  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// Pushes wait for no other end; what a rate limit still holds back is given up.
  void cancel() override;

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
