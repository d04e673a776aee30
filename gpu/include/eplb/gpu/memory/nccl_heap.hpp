#pragma once

#include <memory>
#include <string>

#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu {

/// A symmetric heap of NCCL's: one window over the EP group, which must lie in one NVLink domain,
/// one rank a GPU. Whether NCCL sets up multicast for it is NCCL's setting (NCCL_NVLS_ENABLE) and
/// left alone.
class NcclHeap final : public SymmetricHeap {
 public:
  /// All ranks call it together. kUnsupported without the very version of NCCL that this was
  /// compiled with, or if two ranks share a GPU.
  [[nodiscard]] static Result<std::unique_ptr<NcclHeap>> create(
      PeerGroup group, const std::string& library = "libnccl.so.2");

  ~NcclHeap() override;
  NcclHeap(const NcclHeap&) = delete;
  NcclHeap& operator=(const NcclHeap&) = delete;
  NcclHeap(NcclHeap&&) = delete;
  NcclHeap& operator=(NcclHeap&&) = delete;

  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) override;
  void release() override;
  [[nodiscard]] std::span<std::byte* const> bases() const override;
  [[nodiscard]] std::int64_t taken_bytes() const override;

 private:
  struct State;
  explicit NcclHeap(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
