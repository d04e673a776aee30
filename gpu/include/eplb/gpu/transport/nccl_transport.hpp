#pragma once

#include <memory>
#include <string>

#include "eplb/core/env/transport.hpp"
#include "eplb/gpu/memory/device_memory.hpp"

namespace eplb::gpu {

struct NcclTransportOptions {
  std::string library = "libnccl.so.2";
  int max_ctas = 8;  ///< Thread blocks that its kernels may take, so that a forward has the rest.
};

/// Rows by NCCL's send and receive, tensor by tensor, in groups on a communicator of its own. Its
/// kernels hold multiprocessors until their peers have come, so it is for a group that runs no
/// forward meanwhile (sync mode), and as a reference.
///
/// NOTE [nccl tickets] A call of NCCL may go on after it has returned, and the communicator takes
/// no other until it has ended. So a start only notes its copies; `start` and `poll` hand them to
/// NCCL one start at a time, and mark the stream once NCCL says that a group is on it.
class NcclTransport final : public env::Transport {
 public:
  /// All ranks call it together; it waits, at most two minutes, for the others. kUnsupported
  /// without the very version of NCCL that this was compiled with.
  [[nodiscard]] static Result<std::unique_ptr<NcclTransport>> create(
      const DeviceMemory& memory, const PeerGroup& group, const NcclTransportOptions& options);

  ~NcclTransport() override;
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;
  NcclTransport(NcclTransport&&) = delete;
  NcclTransport& operator=(NcclTransport&&) = delete;

  [[nodiscard]] env::TransportTraits traits() const override;

  /// kAborted once the spare communicators are used up.
  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// NCCL can only give up everything: the communicator is aborted, on a thread of its own, and a
  /// spare one takes its place; all that was unfinished ends as failed. All ranks must do so
  /// between the same two starts, also those that have nothing unfinished, since the new
  /// communicator waits for all. There are seven spares.
  void cancel() override;

  /// Looks for a fault of the device, which no poll sees; see Timeline::check.
  void check();

 private:
  struct State;
  explicit NcclTransport(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
