#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"

namespace eplb::gpu {

/// Hands this rank's bytes to all ranks of the EP group and returns those of each, by rank. All
/// ranks call it the same number of times. It may block up to a deadline of its own; what it
/// returns of another length says that a rank was not heard.
using AllGather =
    std::function<std::vector<std::vector<std::byte>>(std::span<const std::byte> bytes)>;

/// Who this process is among the ranks that share a heap or a communicator.
struct PeerGroup {
  RankId rank;
  std::int32_t rank_count = 0;
  int device = 0;  ///< CUDA's ordinal in this process.
  AllGather all_gather;
};

/// Memory of which every rank of the EP group has the same number of bytes, and which the copy
/// engines of every rank can write at every rank.
class SymmetricHeap {
 public:
  SymmetricHeap() = default;
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;
  SymmetricHeap(SymmetricHeap&&) = delete;
  SymmetricHeap& operator=(SymmetricHeap&&) = delete;
  virtual ~SymmetricHeap() = default;

  /// Reserves `bytes` on every rank; all ranks call it together, also a rank that cannot go on,
  /// which says so in `so_far`: else the others would wait for it. If one rank cannot, nothing is
  /// reserved anywhere: that rank gets its own error, the others kPeerFailed with the same words.
  /// kUnsupported if ranks cannot reach each other's memory, which is found out before any is
  /// taken. Reserves anew if something is reserved.
  [[nodiscard]] virtual Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) = 0;

  /// Gives this rank's memory back, and its view of the others'. Nothing may read or write it any
  /// more, on any rank.
  virtual void release() = 0;

  /// By rank, as this process addresses them; empty while nothing is reserved.
  [[nodiscard]] virtual std::span<std::byte* const> bases() const = 0;

  /// What this rank's memory takes of its device, rounded up as the device needs it.
  [[nodiscard]] virtual std::int64_t taken_bytes() const = 0;
};

}  // namespace eplb::gpu
