#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "eplb/core/env/environment.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/environment/device_load_recorder.hpp"
#include "eplb/gpu/environment/device_map_publisher.hpp"
#include "eplb/gpu/layer_mapping.hpp"
#include "eplb/gpu/memory/device_memory.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"
#include "eplb/gpu/transport/stream_queue.hpp"
#include "eplb/group/trace_ring.hpp"

namespace eplb::gpu {

/// Equal on all ranks of a group.
struct GpuRankOptions {
  Shape shape;
  EplbOptions eplb = {};                               ///< Its communicator is not looked at.
  Communicator communicator = Communicator::kSymmMem;  ///< What resolve_communicator says.
  bool is_elastic = false;                             ///< The group is to grow or shrink.
  std::int32_t replica_count_max = 0;                  ///< As DeviceMaps has it.
  std::int32_t nccl_max_ctas = 8;    ///< Thread blocks that NCCL may take, where it moves rows.
  std::size_t trace_records = 4096;  ///< Newest events that are kept.
};

/// What a rank is handed. All that is referred to outlives it.
struct GpuRankParts {
  PeerGroup group;
  env::ControlPlane& control_plane;
  const PlacementPolicy& policy;
  std::variant<OwnWeights, EngineWeights> weights;
  cudaStream_t forward = nullptr;  ///< Where the engine's forwards run; null: a stream of our own.
  /// Where landing rows lie. Null: for symm_mem the driver's virtual memory, else this rank's own.
  std::unique_ptr<SymmetricHeap> heap = nullptr;
  std::span<std::byte> staging = {};  ///< For torch_gloo: see HostStagedTransport.
};

/// One rank's world on a GPU, all that its balancer works with but the control plane. Every call
/// works while other threads of the process capture streams, in whatever mode.
///
/// Who calls it: the thread that launches forwards flushes maps and reads mappings; all else
/// belongs to the balancer, which calls from two threads, but never at once.
class GpuRank {
 public:
  /// All ranks call it together, before their balancers are made. The initial maps are on the
  /// stream of the forwards. kInvalidConfig for options that exclude each other, kUnsupported for
  /// nixl, what the heap and the transport say if they refuse. Throws CudaError.
  [[nodiscard]] static Result<std::unique_ptr<GpuRank>> create(const GpuRankOptions& options,
                                                               GpuRankParts parts);

  /// After the balancer, and once no rank's copies are under way. Waits for its queues, at most
  /// 10 s each.
  ~GpuRank();
  GpuRank(const GpuRank&) = delete;
  GpuRank& operator=(const GpuRank&) = delete;
  GpuRank(GpuRank&&) = delete;
  GpuRank& operator=(GpuRank&&) = delete;

  [[nodiscard]] env::Environment environment();

  [[nodiscard]] cudaStream_t forward() const;

  /// How the kernels of a forward map and count the picks of a layer. Its addresses stay, so graphs
  /// may hold them.
  [[nodiscard]] LayerMapping mapping(LayerId layer) const;

  /// After on_step and before the next forward; see DeviceMapPublisher::flush.
  void flush_maps();

  [[nodiscard]] const DeviceMemory& memory() const;
  [[nodiscard]] const DeviceLoadRecorder& load_recorder() const;
  [[nodiscard]] const group::TraceRing& trace() const;

  /// Looks for a fault of the device, which no poll sees: what was under way then ends as failed.
  /// A balancer that waits for long wants it now and then, between its entries.
  void check();

 private:
  struct State;
  explicit GpuRank(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
