#include "worker_pool.hpp"

#include <utility>

namespace eplb::cli {

WorkerPool::WorkerPool(std::int32_t thread_count, Work work) : work_(std::move(work)) {
  threads_.reserve(static_cast<std::size_t>(thread_count));
  for (std::int32_t thread = 0; thread < thread_count; ++thread) {
    threads_.emplace_back([this] { serve(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  has_request_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void WorkerPool::submit(std::size_t index, std::string request) {
  {
    const std::scoped_lock lock(mutex_);
    requests_.push_back({.index = index, .text = std::move(request)});
  }
  has_request_.notify_one();
}

std::vector<WorkerPool::Finished> WorkerPool::take_finished(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  has_finished_.wait_for(lock, wait, [this] { return !finished_.empty(); });
  return std::exchange(finished_, {});
}

void WorkerPool::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_request_.wait(lock, [this] { return ends_ || !requests_.empty(); });
    if (ends_) {
      return;
    }
    const Request request = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    std::string reply = work_(request.text);
    lock.lock();
    finished_.push_back({.index = request.index, .reply = std::move(reply)});
    has_finished_.notify_one();
  }
}

}  // namespace eplb::cli
