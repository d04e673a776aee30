#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu {

/// One round: every rank says how it stands and, if well, hands over its bytes. Returns all ranks'
/// bytes by rank. The own error if this rank stands badly, else kPeerFailed with the words of the
/// lowest rank that does, or if a rank was not heard: every rank leaves the round alike.
[[nodiscard]] Result<std::vector<std::vector<std::byte>>> exchange_bytes(
    const PeerGroup& group, const Result<std::vector<std::byte>>& mine);

/// The same for a plain value a rank.
template <typename Value>
[[nodiscard]] Result<std::vector<Value>> exchange(const PeerGroup& group,
                                                  const Result<Value>& mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const auto to_bytes = [](const Value& value) {
    std::vector<std::byte> bytes(sizeof(Value));
    std::memcpy(bytes.data(), &value, sizeof(Value));
    return bytes;
  };
  const Result<std::vector<std::vector<std::byte>>> all = exchange_bytes(group, mine.map(to_bytes));
  if (!all) {
    return tl::unexpected(all.error());
  }
  std::vector<Value> values(all->size());
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank].size() != sizeof(Value)) {
      return fail(ErrorCode::kPeerFailed, "rank " + std::to_string(rank) + " runs another version");
    }
    std::memcpy(&values[rank], (*all)[rank].data(), sizeof(Value));
  }
  return values;
}

/// A round in which nothing is handed over but how each stands.
[[nodiscard]] Result<void> agree(const PeerGroup& group, const Result<void>& mine);

}  // namespace eplb::gpu
