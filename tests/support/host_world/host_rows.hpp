#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/env/memory.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::test {

/// The memories of a group's ranks: real bytes, of which every one says whose it is. Nothing is
/// locked: that readers and writers do not meet is the balancers' doing.
class HostRows {
 public:
  explicit HostRows(std::int32_t rank_count) : ranks_(static_cast<std::size_t>(rank_count)) {}

  /// Filled with what is nobody's weights.
  void reserve(RankId rank, const env::MemoryLayout& layout);
  void release(RankId rank);

  /// All bytes of a layer's row.
  void copy(const RowCopy& copy);

  /// What a loader does on one rank.
  void load(RankId rank, const Placement& placement);

  /// Whether every byte of the slot is that of the layer's expert.
  [[nodiscard]] bool holds(RankId rank, LayerId layer, std::int32_t row,
                           LogicalExpertId expert) const;

 private:
  struct Memory {
    env::MemoryLayout layout;
    std::vector<std::vector<std::byte>> weights;  ///< A layer's rows, one after the other.
    std::vector<std::vector<std::byte>> landing;  ///< By row, as wide as the widest layer's.
  };

  [[nodiscard]] std::span<std::byte> bytes_at(const RowAddress& address, std::int64_t bytes);

  std::vector<Memory> ranks_;
};

}  // namespace eplb::test
