#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/layer_map_view.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu::test {

/// The map that a device holds as `entries`, heads and then tails of `tail_width`. None if it is
/// the map of no placement of that shape, down to the reciprocals of its counts.
[[nodiscard]] std::optional<LayerMap> map_in(std::span<const MapEntry> entries,
                                             std::int32_t tail_width, const Shape& shape);

/// The map that a layer's kernels look up, behind what the stream was asked to do; blocks. None as
/// above.
[[nodiscard]] std::optional<LayerMap> read_map(const LayerMapView& view, const Shape& shape,
                                               cudaStream_t stream);

/// A slot of a rank.
struct SlotPlace {
  LayerId layer;
  LocalSlot slot;
};

/// Compares the slots of a rank, byte for byte, with the content that fill_row gives to an expert.
class SlotLook {
 public:
  explicit SlotLook(const Shape& shape);

  /// Those slots that do not hold the expert which `experts` [layers, slots of a rank] names, of
  /// all where that is not -1. Behind what the stream was asked to do; blocks.
  [[nodiscard]] std::vector<SlotPlace> differing(std::span<const LayerWeights> layers,
                                                 const LoadMatrix& experts, cudaStream_t stream);

 private:
  PinnedBuffer<std::int32_t> experts_;  ///< [layers, slots of a rank], as the two below.
  FetchedBuffer<std::uint64_t> found_;  ///< Digests.
  FetchedBuffer<std::uint64_t> expected_;
};

}  // namespace eplb::gpu::test
