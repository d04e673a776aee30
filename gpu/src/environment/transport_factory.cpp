#include "transport_factory.hpp"

#include <string>
#include <utility>

#include "eplb/core/communicator.hpp"
#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/transport/copy_engine_transport.hpp"
#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "eplb/gpu/transport/nccl_transport.hpp"
#include "local_heap.hpp"

namespace eplb::gpu {
namespace {

/// Copies that one call of the driver takes.
constexpr std::int32_t kCopiesPerBatch = 16;

constexpr std::int32_t kCopyStreamsMax = 2;

template <typename Specific>
MadeTransport made(std::unique_ptr<Specific> transport) {
  Specific* const specific = transport.get();
  return {.transport = std::move(transport), .check = [specific] { specific->check(); }};
}

template <typename Specific>
Result<MadeTransport> made(Result<std::unique_ptr<Specific>> transport) {
  if (!transport) {
    return tl::unexpected(transport.error());
  }
  return made(std::move(*transport));
}

}  // namespace

Result<void> check_communicator(const GpuRankOptions& options) {
  const std::string name(to_string(options.communicator));
  const auto refuse = [](ErrorCode code, const std::string& message) {
    return fail(code, "eplb.communicator: " + message);
  };
  switch (options.communicator) {
    case Communicator::kAuto:
      return refuse(ErrorCode::kInvalidConfig, "auto has to be resolved first");
    case Communicator::kNixl:
      return refuse(ErrorCode::kUnsupported, "nixl is not built in here; use symm_mem");
    case Communicator::kSymmMem:
      if (options.is_elastic) {
        return refuse(ErrorCode::kInvalidConfig,
                      "symm_mem is reserved once for all ranks, so it cannot serve a group that "
                      "grows or shrinks (parallel.scale); use torch_gloo, or pynccl with "
                      "eplb.use_async false");
      }
      break;
    case Communicator::kTorchNccl:
    case Communicator::kPynccl:
      if (options.eplb.use_async) {
        return refuse(ErrorCode::kInvalidConfig,
                      name +
                          " can lock up with the kernels of a forward; set eplb.use_async to false "
                          "or use symm_mem or torch_gloo");
      }
      break;
    case Communicator::kTorchGloo:
      break;
  }
  const std::int32_t copy_streams = options.eplb.copy_streams;
  if (options.communicator == Communicator::kSymmMem &&
      (copy_streams < 1 || copy_streams > kCopyStreamsMax)) {
    return fail(ErrorCode::kInvalidConfig,
                "eplb.copy_streams: must be 1 or 2, as copy engines are fed here, got " +
                    std::to_string(copy_streams));
  }
  return {};
}

Result<std::unique_ptr<SymmetricHeap>> make_heap(Communicator communicator,
                                                 const PeerGroup& group) {
  if (communicator != Communicator::kSymmMem) {
    return std::make_unique<LocalHeap>(group);
  }
  Result<std::unique_ptr<VmmHeap>> heap = VmmHeap::create(group);
  if (!heap) {
    return tl::unexpected(heap.error());
  }
  return std::move(*heap);
}

Result<MadeTransport> make_transport(const GpuRankOptions& options, const TransportParts& parts) {
  const int device = parts.group.device;
  if (options.communicator == Communicator::kSymmMem) {
    return made(std::make_unique<CopyEngineTransport>(
        parts.memory, parts.clock,
        CopyEngineOptions{
            .device = device,
            .pieces_per_batch = options.eplb.batched_copies ? kCopiesPerBatch : 1,
            .stream_count = options.eplb.copy_streams,
            .rate_limit_gb_per_s = options.eplb.copy_rate_limit_gb_per_s.value_or(0)}));
  }
  if (options.communicator == Communicator::kTorchGloo) {
    return made(
        HostStagedTransport::create(parts.memory, parts.group.rank, parts.staging,
                                    {.device = device, .rank_count = parts.group.rank_count}));
  }
  return made(
      NcclTransport::create(parts.memory, parts.group, {.max_ctas = options.nccl_max_ctas}));
}

}  // namespace eplb::gpu
