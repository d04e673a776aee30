#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/group/board.hpp"

namespace eplb::group {

/// Lets no rank begin a forward before all have come to it: what engines do by their collectives.
/// Apart from the balancer's messages, so that it waits for none of them.
class StepBarrier {
 public:
  /// The board outlives it. There is one of a rank in all processes.
  StepBarrier(Board& board, RankId rank) : board_(board), rank_(rank) {}

  /// Says that this rank has come to `step`, and waits until all have. kAborted once the group has
  /// ended; kTimeout, after which the group is ended as FailureCause::kStatusMissing by the first
  /// rank that has not come. Steps ascend from 1: 0 is where
  /// all begin.
  [[nodiscard]] Result<void> wait(std::int64_t step, std::int64_t deadline_ms);

 private:
  Board& board_;
  RankId rank_;
};

}  // namespace eplb::group
