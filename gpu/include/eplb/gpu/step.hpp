#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "eplb/gpu/kernel_resources.hpp"

namespace eplb::gpu {

/// Stripes that counters may have.
inline constexpr std::int32_t kStripesMax = 8;

/// What the end of a forward does with the counts of its pass. All pointers are device memory,
/// 16-byte aligned.
///
/// NOTE [pass buffers] The recording kernels of all layers stand in graphs with one address for
/// their counts, so the two buffers of a pass swap roles by value: the counts move to a snapshot,
/// and the pass starts anew at zero. At 60 KB that costs less than an indirection in each of the
/// layers' launches. The snapshot is read back on a side stream, and is not written again before
/// the host has what was in it.
struct StepArguments {
  std::int32_t counter_count = 0;  ///< Of all layers, by expert and by slot.
  /// The first of them, a multiple of four, stand in several stripes: [stripes, striped], then the
  /// other counters. Stripes are added up.
  std::int32_t stripe_count = 1;
  std::int32_t striped_count = 0;
  std::int32_t* pass_counts = nullptr;      ///< Cleared.
  std::int32_t* snapshot_counts = nullptr;  ///< [counters]; null: the counts are dropped.

  // For the balancedness of a pass: the last counters are those of slots, rank by rank.
  std::int32_t rank_sum_count = 0;    ///< Layers x ranks; 0: nothing is summed.
  std::int32_t slots_per_rank = 0;    ///< Counters of each sum.
  std::int32_t* rank_sums = nullptr;  ///< [rank sums], written.

  /// Counters that belong to no sum; they come first.
  [[nodiscard]] constexpr std::int32_t plain_count() const {
    return counter_count - rank_sum_count * slots_per_rank;
  }
};

/// One launch, that a graph can capture. Throws std::invalid_argument on other stripes.
void finish_pass(const StepArguments& arguments, cudaStream_t stream);

[[nodiscard]] KernelResources finish_pass_resources();

}  // namespace eplb::gpu
