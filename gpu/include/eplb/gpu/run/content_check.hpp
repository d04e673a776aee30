#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "eplb/core/ids.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu {

/// What a check of slots found.
struct ContentFindings {
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  LayerId wrong_layer{-1};  ///< Of the first one that was wrong,
  LocalSlot wrong_slot{-1};
};

/// Proves that every slot of a rank holds the expert that its placement says, for weights that were
/// filled by fill_row: digests of what is there against digests of what must be.
class ContentCheck {
 public:
  ContentCheck(const Shape& shape, RankId rank);

  /// Fills every slot of the rank as `placement` says; blocks until done.
  void fill(std::span<const LayerWeights> layers, const Placement& placement,
            cudaStream_t stream) const;

  /// Behind what the stream was asked to do, blocks until done. Every `sample_stride`-th 8-byte
  /// word is read, 1 for every byte; which ones, the round says.
  [[nodiscard]] ContentFindings check(std::span<const LayerWeights> layers,
                                      const Placement& placement, std::int32_t sample_stride,
                                      std::int64_t round, cudaStream_t stream);

 private:
  RankId rank_;
  std::int32_t slots_;
  PinnedBuffer<std::int32_t> experts_;
  FetchedBuffer<std::uint64_t> found_;     ///< [layers, slots]
  FetchedBuffer<std::uint64_t> expected_;  ///< [layers, slots]
};

}  // namespace eplb::gpu
