#include "worker_queue.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace eplb::test {

void WorkerQueue::append(std::function<bool()> operation) {
  worker_.post([this, operation = std::move(operation)] {
    if (!failed_ && !halted_) {
      pauses_.pause();
      failed_ = !operation() || failed_;
    }
  });
}

// Last copy first: none may depend on another.
void WorkerQueue::copy(std::span<const RowCopy> copies) {
  append([this, kept = std::vector<RowCopy>(copies.rbegin(), copies.rend())] {
    if (broken_ && !kept.empty()) {
      return false;
    }
    for (const RowCopy& copy : kept) {
      rows_.copy(copy);
    }
    return true;
  });
}

env::Ticket WorkerQueue::signal() {
  const std::int64_t ticket = ++given_;
  append([this, ticket] {
    reached_ = ticket;
    return true;
  });
  return {ticket};
}

void WorkerQueue::wait(const env::Queue& other, env::Ticket ticket) {
  const auto& queue = static_cast<const WorkerQueue&>(other);
  if (ticket.value > queue.given_) {
    return;  // A mark that was not yet recorded is no wait.
  }
  append([this, &queue, ticket] {
    while (queue.poll(ticket) == env::Completion::kPending && !halted_) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return queue.poll(ticket) == env::Completion::kDone;
  });
}

env::Completion WorkerQueue::poll(env::Ticket ticket) const {
  if (ticket.value <= reached_) {
    return env::Completion::kDone;
  }
  return failed_ ? env::Completion::kFailed : env::Completion::kPending;
}

}  // namespace eplb::test
