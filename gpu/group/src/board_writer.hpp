#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "board_layout.hpp"
#include "eplb/core/env/control_plane.hpp"
#include "eplb/core/status.hpp"
#include "eplb/group/board.hpp"

namespace eplb::group {

/// Writes one rank's records. There is one of a rank on each board, and one thread uses it at a
/// time.
class BoardWriter {
 public:
  BoardWriter(Board& board, RankId rank) : board_(board), rank_(rank) {}

  [[nodiscard]] RankId rank() const { return rank_; }

  void post(const Status& status);
  void post_retired(std::int64_t rearrangement, std::int32_t layers);
  void post_heartbeat();

  /// Sums of a kind are started in ascending order. Kept here until there is room for it.
  void start_sum(const env::SumKey& key, std::span<const double> values);

  /// Writes what was kept, as far as there is room by now.
  void write_kept_sums();

  [[nodiscard]] bool keeps_sums() const;

 private:
  struct KeptSum {
    std::int64_t index;
    std::vector<double> values;
  };

  [[nodiscard]] bool write_sum(env::SumKey::Kind kind, std::int64_t index,
                               std::span<const double> values);
  [[nodiscard]] bool is_free(const SumSlot& slot, env::SumKey::Kind kind) const;
  void note_alive();

  Board& board_;
  RankId rank_;
  std::int64_t posted_ = 0;  ///< Statuses.
  std::array<std::deque<KeptSum>, kSumKindCount> kept_;
};

/// Reads one rank's log of statuses from its beginning.
class StatusLog {
 public:
  StatusLog(const Board& board, RankId rank) : board_(&board), rank_(rank) {}

  /// The next status, if it was posted. A reader that falls more than Board::kStatusesKept behind
  /// misses the oldest; no rank is ever more rounds ahead of another than the commit lead.
  [[nodiscard]] std::optional<Status> try_take();

 private:
  const Board* board_;
  RankId rank_;
  std::int64_t taken_ = 0;
};

/// The slot of a rank with its values of a sum; -1 if they are not there.
[[nodiscard]] std::int32_t find_sum_slot(const Board& board, RankId rank, const env::SumKey& key);

}  // namespace eplb::group
