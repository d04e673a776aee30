#pragma once

#include <functional>
#include <memory>

#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/transport.hpp"
#include "eplb/gpu/environment/gpu_rank.hpp"

namespace eplb::gpu {

/// A transport, and its own way to look for a fault of the device.
struct MadeTransport {
  std::unique_ptr<env::Transport> transport;
  std::function<void()> check;
};

/// What a transport is made of. Memory and clock outlive it.
struct TransportParts {
  const DeviceMemory& memory;
  const env::Clock& clock;
  const PeerGroup& group;
  std::span<std::byte> staging;
};

/// kInvalidConfig, in the words of the configuration, for options that exclude each other;
/// kUnsupported for a communicator that is not built here.
[[nodiscard]] Result<void> check_communicator(const GpuRankOptions& options);

/// The heap that the communicator needs.
[[nodiscard]] Result<std::unique_ptr<SymmetricHeap>> make_heap(Communicator communicator,
                                                               const PeerGroup& group);

/// The transport of a communicator that was checked. All ranks call it together.
[[nodiscard]] Result<MadeTransport> make_transport(const GpuRankOptions& options,
                                                   const TransportParts& parts);

}  // namespace eplb::gpu
