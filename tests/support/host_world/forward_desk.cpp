#include "forward_desk.hpp"

#include <utility>

namespace eplb::test {

bool ForwardDesk::dispatch(RankId rank, LoadMatrix experts) {
  sent_[rank.index()] = std::move(experts);
  return meet();
}

void ForwardDesk::abandon() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
}

bool ForwardDesk::meet() {
  std::unique_lock lock(mutex_);
  if (++arrived_ == rank_count_) {
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
    return true;
  }
  const std::int64_t meeting = meeting_;
  changed_.wait(lock, [&] { return meeting_ != meeting || abandoned_; });
  return meeting_ != meeting;
}

}  // namespace eplb::test
