#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu {

/// Memory of this rank's that no other rank reaches: enough for transports whose receivers write
/// their own landing rows, and all there is where GPUs cannot reach each other. The others' bases
/// are null.
class LocalHeap final : public SymmetricHeap {
 public:
  explicit LocalHeap(PeerGroup group);

  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) override;
  void release() override;

  [[nodiscard]] std::span<std::byte* const> bases() const override { return bases_; }

  [[nodiscard]] std::int64_t taken_bytes() const override;

 private:
  [[nodiscard]] Result<void> allocate(std::int64_t bytes);

  PeerGroup group_;
  std::optional<DeviceBuffer<std::byte>> memory_;
  std::vector<std::byte*> bases_;
};

}  // namespace eplb::gpu
