#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "eplb/core/env/queue.hpp"
#include "host_rows.hpp"
#include "worker.hpp"

namespace eplb::test {

/// A queue whose operations a thread runs, as a device runs a stream's: later, in order, and none
/// any more after one has failed.
class WorkerQueue final : public env::Queue {
 public:
  WorkerQueue(HostRows& rows, std::uint64_t seed) : rows_(rows), pauses_(seed) {}

  ~WorkerQueue() override { halt(); }

  WorkerQueue(const WorkerQueue&) = delete;
  WorkerQueue& operator=(const WorkerQueue&) = delete;
  WorkerQueue(WorkerQueue&&) = delete;
  WorkerQueue& operator=(WorkerQueue&&) = delete;

  void copy(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Ticket signal() override;
  void wait(const env::Queue& other, env::Ticket ticket) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// Appends anything; false is a failure.
  void append(std::function<bool()> operation);

  /// From now on copies fail.
  void break_copies() { broken_ = true; }

  /// Nothing runs any more once this returns.
  void halt() {
    halted_ = true;
    worker_.stop();
  }

 private:
  HostRows& rows_;
  Pauses pauses_;  ///< The worker's.
  std::int64_t given_ = 0;
  std::atomic<std::int64_t> reached_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> halted_ = false;
  Worker worker_;  ///< Last: it uses all of the above.
};

}  // namespace eplb::test
