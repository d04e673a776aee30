#include "eplb/group/step_barrier.hpp"

#include <string>
#include <thread>

#include "deadline.hpp"

namespace eplb::group {

Result<void> StepBarrier::wait(std::int64_t step, std::int64_t deadline_ms) {
  constexpr std::int32_t kLooksPerCheck = 256;  // Between looks at the clock and at the group.
  board_.come_to_step(rank_, step);
  const Deadline deadline = Deadline::after_ms(deadline_ms);
  std::int32_t looks = 0;
  for (std::int32_t rank = 0; rank < board_.options().rank_count;) {
    if (board_.step_of(RankId{rank}) >= step) {
      ++rank;
      continue;
    }
    if (++looks % kLooksPerCheck != 0) {
      continue;
    }
    if (const auto failure = board_.failure()) {
      return fail(ErrorCode::kAborted, "the group has ended: " + describe(*failure));
    }
    if (deadline.passed()) {
      board_.end({.cause = FailureCause::kStatusMissing, .rank = RankId{rank}});
      return fail(ErrorCode::kTimeout, "rank " + std::to_string(rank) + " did not come to step " +
                                           std::to_string(step) + " within " +
                                           std::to_string(deadline_ms) + " ms");
    }
    std::this_thread::yield();
  }
  return {};
}

}  // namespace eplb::group
