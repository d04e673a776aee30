#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "eplb/gpu/kernel_resources.hpp"

namespace eplb::gpu {

/// What the end of a forward does with the counts of its pass. All pointers are device memory.
///
/// NOTE [pass buffers] The recording kernels of all layers stand in graphs with one address for
/// their counts, so the two buffers of a pass swap roles by value: the counts move to the snapshot,
/// and the pass starts anew at zero. At 60 KB that costs less than an indirection in each of the
/// layers' launches. The snapshot is read back on a side stream, which the next step must not
/// overtake: whoever reads records an event that the next step's stream waits for.
struct StepArguments {
  std::int32_t layer_count = 0;
  std::int32_t expert_count = 0;
  std::int32_t* pass_counts = nullptr;      ///< [layers, experts], cleared.
  std::int32_t* snapshot_counts = nullptr;  ///< The same shape; null: a dummy step's are dropped.

  std::int32_t rank_count = 0;
  std::int32_t slots_per_rank = 0;
  std::int32_t* pass_slot_counts =
      nullptr;                         ///< [layers, ranks, slots of a rank], cleared, or null.
  std::int32_t* rank_loads = nullptr;  ///< [layers, ranks], written: for balancedness; or null.
};

/// One launch, that a graph can capture.
void finish_pass(const StepArguments& arguments, cudaStream_t stream);

[[nodiscard]] KernelResources finish_pass_resources();

}  // namespace eplb::gpu
