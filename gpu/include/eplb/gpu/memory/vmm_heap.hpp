#pragma once

#include <cstdint>
#include <memory>

#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu {

/// How ranks in different processes hand their memory to each other.
enum class HandleKind : std::uint8_t {
  kAuto,       ///< Fabric where every rank is granted it, else file descriptors.
  kFabric,     ///< Across the hosts of an NVLink domain (needs IMEX channels).
  kPosixFile,  ///< Within a host.
};

/// A symmetric heap of the driver's virtual memory. Ranks of one process share memory directly, and
/// may share a GPU; ranks of one host hand over file descriptors; across hosts goes fabric memory.
class VmmHeap final : public SymmetricHeap {
 public:
  /// kUnsupported if the driver or the device lacks virtual memory.
  [[nodiscard]] static Result<std::unique_ptr<VmmHeap>> create(PeerGroup group,
                                                               HandleKind kind = HandleKind::kAuto);

  ~VmmHeap() override;
  VmmHeap(const VmmHeap&) = delete;
  VmmHeap& operator=(const VmmHeap&) = delete;
  VmmHeap(VmmHeap&&) = delete;
  VmmHeap& operator=(VmmHeap&&) = delete;

  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) override;
  void release() override;
  [[nodiscard]] std::span<std::byte* const> bases() const override;
  [[nodiscard]] std::int64_t taken_bytes() const override;

  /// What the memory reserved now was handed over by: kAuto if nothing had to be.
  [[nodiscard]] HandleKind handle_kind() const;

 private:
  struct State;
  explicit VmmHeap(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
