#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/env/memory.hpp"
#include "eplb/core/row_address.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/violations.hpp"

namespace eplb::sim {

/// What a row holds, in place of bytes: whose weights, of which loading of the model.
struct RowContent {
  std::int32_t layer = -1;
  std::int32_t expert = -1;
  std::int64_t version = 0;

  friend bool operator==(const RowContent&, const RowContent&) = default;
};

/// Nobody's weights: a row that was never written, or that is being written, or whose copy failed.
inline constexpr RowContent kNoContent{};

/// All rows of a group. It knows who reads and who writes a row at any moment, so that two who must
/// not meet are caught in the act, even where the content would have come out right.
class RowStore {
 public:
  RowStore(const EventEngine& engine, Violations& violations, std::int32_t rank_count)
      : engine_(engine), violations_(violations), ranks_(static_cast<std::size_t>(rank_count)) {}

  /// Contents are lost.
  void reserve(RankId rank, const env::MemoryLayout& layout);
  void release(RankId rank);

  void begin_copy(const RowCopy& copy);

  /// The destination holds what the source does, or nothing if the copy failed.
  void end_copy(const RowCopy& copy, bool failed);

  /// A forward of `rank` reads all its weights from here to end_forward.
  void begin_forward(RankId rank);
  void end_forward(RankId rank);

  /// The loader's doing.
  void set(const RowAddress& address, const RowContent& content);

  [[nodiscard]] const RowContent& content(const RowAddress& address) const;

  /// Bytes of the row, as the layout had it.
  [[nodiscard]] std::int64_t row_bytes(const RowAddress& address) const;

  /// Rows of a rank's landing pool.
  [[nodiscard]] std::int32_t landing_rows(RankId rank) const;

 private:
  struct Row {
    RowContent content;
    std::int32_t readers = 0;
    std::int32_t writers = 0;
  };

  struct RankRows {
    env::MemoryLayout layout;
    std::vector<Row> rows;  ///< [layers][slots], then the landing rows; empty if released.
    bool in_forward = false;
  };

  [[nodiscard]] std::size_t index_of(const RowAddress& address) const;
  [[nodiscard]] bool exists(const RowAddress& address) const;
  void violate(const RowAddress& address, const char* what);

  const EventEngine& engine_;
  Violations& violations_;
  std::vector<RankRows> ranks_;
};

}  // namespace eplb::sim
