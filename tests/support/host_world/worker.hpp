#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace eplb::test {

/// Short pauses of random length, so that what runs side by side meets in ever new ways.
class Pauses {
 public:
  explicit Pauses(std::uint64_t seed) : state_(seed) {}

  void pause();

 private:
  std::uint64_t state_;
};

/// A thread that does what it is given, one after the other.
class Worker {
 public:
  Worker();
  /// Drops what has not begun.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) = delete;
  Worker& operator=(Worker&&) = delete;

  void post(std::function<void()> task);

  /// Waits for the task under way, and begins no other any more.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace eplb::test
