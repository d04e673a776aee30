#pragma once

#include <cstdint>
#include <span>

#include "eplb/core/env/completion.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::env {

/// Which end of a copy has to start it. That end is also the one that knows when it has landed.
enum class TransferSide : std::uint8_t {
  kSender,    ///< Push: symm_mem.
  kReceiver,  ///< Pull, one-sided read: nixl.
  kBoth,      ///< Pair, matched by order: NCCL, gloo.
};

struct TransportTraits {
  TransferSide side = TransferSide::kSender;
  bool uses_sms = false;     ///< Kernels of its own that can stand in a forward's way.
  bool host_staged = false;  ///< Rows pass through host memory.
};

/// Brings rows across ranks into landing rows. Never blocks.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  Transport(Transport&&) = delete;
  Transport& operator=(Transport&&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual TransportTraits traits() const = 0;

  /// Starts those copies that this rank has to start. They run in no order; the ticket is done when
  /// all have landed, at once if there are none. What they read stays unchanged and what they write
  /// stays unread until then. An error if the copies could not be started; then none was.
  [[nodiscard]] virtual Result<Ticket> start(std::span<const RowCopy> copies) = 0;

  [[nodiscard]] virtual Completion poll(Ticket ticket) const = 0;

  /// Gives up copies whose other end has not started them: they end as failed. What is under way
  /// goes on to its end. Without it the one end of a pair would wait for ever for an aborted other.
  virtual void cancel() = 0;
};

}  // namespace eplb::env
