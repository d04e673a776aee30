#include "worker.hpp"

#include <chrono>
#include <utility>

namespace eplb::test {

// One pause in four is long enough to be overtaken; the others are none.
void Pauses::pause() {
  constexpr std::uint64_t kLongestUs = 200;
  state_ = state_ * 6364136223846793005U + 1442695040888963407U;
  const std::uint64_t drawn = state_ >> 33U;
  if (drawn % 4 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % kLongestUs));
  }
}

Worker::Worker() {
  thread_ = std::thread([this] { run(); });
}

Worker::~Worker() {
  stop();
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  posted_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  posted_.notify_one();
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) {
      return;
    }
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace eplb::test
