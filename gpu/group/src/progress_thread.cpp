#include "eplb/group/progress_thread.hpp"

#include <algorithm>
#include <chrono>

namespace eplb::group {

ProgressThread::Turn::Turn(ProgressThread& owner, bool wakes) : owner_(owner), wakes_(wakes) {
  const std::int64_t since_ns = owner.clock_.now_ns();
  ++owner.wanting_;
  lock_ = std::unique_lock(owner.mutex_);
  // Only the lock's owner writes it.
  owner.longest_wait_ns_ =
      std::max(owner.longest_wait_ns_.load(), owner.clock_.now_ns() - since_ns);
}

ProgressThread::Turn::~Turn() {
  --owner_.wanting_;
  owner_.woken_ = owner_.woken_ || wakes_;
  lock_.unlock();
  owner_.wake_.notify_one();
}

ProgressThread::ProgressThread(Balancer& balancer, Options options)
    : balancer_(balancer), options_(std::move(options)) {
  thread_ = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  ++wanting_;  // Else a thread that has always more to do would never let go of the lock.
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

StepDecision ProgressThread::on_step(StepKind kind) {
  const Turn turn(*this, true);
  if (thrown_ != nullptr) {
    std::rethrow_exception(thrown_);
  }
  return options_.recording != nullptr ? options_.recording->on_step(balancer_, kind)
                                       : balancer_.on_step(kind);
}

void ProgressThread::run() {
  try {
    if (options_.on_start) {
      options_.on_start();
    }
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      woken_ = false;
      const bool again = progress();
      const MigrationState state = balancer_.state();
      const bool idle = state == MigrationState::kIdle || state == MigrationState::kStopped;
      const std::chrono::nanoseconds pause(idle ? options_.idle_poll_ns : options_.busy_poll_ns);
      if (!again) {
        wake_.wait_for(lock, pause, [this] { return stopping_ || woken_; });
      }
      wake_.wait(lock, [this] { return stopping_ || wanting_ == 0; });
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    thrown_ = std::current_exception();
  }
}

bool ProgressThread::progress() {
  const std::int64_t since_ns = clock_.now_ns();
  const bool again = options_.recording != nullptr ? options_.recording->progress(balancer_)
                                                   : balancer_.progress();
  longest_progress_ns_ = std::max(longest_progress_ns_.load(), clock_.now_ns() - since_ns);
  return again;
}

}  // namespace eplb::group
