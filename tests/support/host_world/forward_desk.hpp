#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/load.hpp"

namespace eplb::test {

/// Where the ranks of a group meet in a forward: it is collective, so a rank that stays away leaves
/// the others in it.
class ForwardDesk {
 public:
  explicit ForwardDesk(std::int32_t rank_count)
      : rank_count_(rank_count), sent_(static_cast<std::size_t>(rank_count)) {}

  /// Dispatch: what the rank's tokens expect in each slot, [layers, slots], goes to all. False if
  /// a rank will never come.
  [[nodiscard]] bool dispatch(RankId rank, LoadMatrix experts);

  /// What a rank has sent; between dispatch and combine.
  [[nodiscard]] const LoadMatrix& sent(RankId rank) const { return sent_[rank.index()]; }

  /// The forward's end. False if a rank will never come.
  [[nodiscard]] bool combine() { return meet(); }

  /// A rank has left for good.
  void abandon();

 private:
  [[nodiscard]] bool meet();

  std::int32_t rank_count_;
  std::vector<LoadMatrix> sent_;  ///< By rank.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int32_t arrived_ = 0;
  std::int64_t meeting_ = 0;
  bool abandoned_ = false;
};

}  // namespace eplb::test
