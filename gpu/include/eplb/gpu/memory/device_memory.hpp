#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "eplb/core/env/memory.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu {

/// Weights that an engine owns: [layers][tensors]. They outlive the memory that is told of them.
struct EngineWeights {
  std::vector<std::vector<WeightTensor>> layers;
};

/// Weights that we allocate, in rows: bytes of an expert's tensors, [layers][tensors].
struct OwnWeights {
  std::vector<std::vector<std::int64_t>> tensor_bytes;
};

/// A rank's regions on its device: the landing pool in a symmetric heap, one buffer and one
/// rendezvous for all layers, and the layers' weights.
class DeviceMemory final : public env::Memory {
 public:
  /// `heap` is the group's, and outlives this.
  DeviceMemory(SymmetricHeap& heap, RankId rank, int device, OwnWeights weights);
  DeviceMemory(SymmetricHeap& heap, RankId rank, int device, EngineWeights weights);

  /// All ranks call it together. kInvalidArgument if the layout has other layers or bytes than the
  /// weights; kResourceExhausted, with the bytes asked and free, if they do not fit: then no rank
  /// has reserved anything. Weights of our own stay where they are if they are of the same layout.
  [[nodiscard]] Result<void> reserve(const env::MemoryLayout& layout) override;

  void release() override;

  /// Where rows are. Throws std::logic_error while nothing is reserved.
  [[nodiscard]] const RankWeights& rows() const;

  /// What the reserved regions take of the device; an engine's own weights do not count.
  [[nodiscard]] std::int64_t taken_bytes() const;

 private:
  [[nodiscard]] Result<std::vector<LayerWeights>> layers_of() const;
  [[nodiscard]] Result<void> allocate_weights(const env::MemoryLayout& layout);
  [[nodiscard]] std::int64_t weights_bytes(std::int32_t slot_count) const;

  SymmetricHeap& heap_;
  RankId rank_;
  int device_;
  OwnWeights own_;
  EngineWeights engine_;
  std::vector<DeviceBuffer<std::byte>> buffers_;  ///< By layer; none for an engine's weights.
  std::int32_t slot_count_ = 0;                   ///< Of the buffers.
  std::unique_ptr<RankWeights> rows_;
};

}  // namespace eplb::gpu
