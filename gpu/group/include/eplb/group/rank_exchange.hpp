#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/group/membership.hpp"

namespace eplb::group {

/// All-gather of bytes over the ranks of a group, where a process holds several as threads: the
/// last of them to come exchanges for all. Every rank makes the same calls in the same order.
class RankExchange {
 public:
  /// `own_ranks`, ascending, are this process'; the membership outlives this.
  RankExchange(Membership& membership, std::vector<RankId> own_ranks, std::int64_t deadline_ms);

  /// Blocks until all ranks' bytes are there, by rank; empty if one was not heard in time.
  [[nodiscard]] std::vector<std::vector<std::byte>> gather(RankId rank,
                                                           std::span<const std::byte> bytes);

 private:
  void exchange();

  Membership& membership_;
  const std::vector<RankId> own_ranks_;
  const std::int64_t deadline_ms_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::vector<std::byte>> given_;     ///< By own rank, of the gather under way.
  std::vector<std::vector<std::byte>> gathered_;  ///< By rank, of the last one that ended.
  std::size_t come_count_ = 0;
  std::int64_t ended_count_ = 0;  ///< Gathers.
};

}  // namespace eplb::group
