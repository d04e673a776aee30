#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace eplb::cli {

/// Threads that turn requests into replies.
class WorkerPool {
 public:
  /// Called by any of the threads, several at once. Throws nothing.
  using Work = std::function<std::string(const std::string& request)>;

  struct Finished {
    std::size_t index = 0;
    std::string reply;
  };

  WorkerPool(std::int32_t thread_count, Work work);

  /// Waits for what is being worked on; what has not begun is dropped.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  WorkerPool(WorkerPool&&) = delete;
  WorkerPool& operator=(WorkerPool&&) = delete;

  [[nodiscard]] std::int32_t thread_count() const {
    return static_cast<std::int32_t>(threads_.size());
  }

  void submit(std::size_t index, std::string request);

  /// What has been finished since the last call; waits up to `wait` for something.
  [[nodiscard]] std::vector<Finished> take_finished(std::chrono::milliseconds wait);

 private:
  struct Request {
    std::size_t index = 0;
    std::string text;
  };

  void serve();

  Work work_;
  std::mutex mutex_;
  std::condition_variable has_request_;
  std::condition_variable has_finished_;
  std::deque<Request> requests_;
  std::vector<Finished> finished_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace eplb::cli
