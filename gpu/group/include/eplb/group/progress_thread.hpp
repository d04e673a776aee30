#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "eplb/core/balancer.hpp"
#include "eplb/group/monotonic_clock.hpp"
#include "eplb/group/recording.hpp"

namespace eplb::group {

/// Calls a balancer's progress beside the engine's steps, and keeps its two entries apart.
///
/// NOTE [who goes first]: a step must not wait for more than the one call of progress that it comes
/// upon, however often progress asks to be called again. So whoever wants the balancer says so
/// before it takes the lock, and the thread begins no call while somebody does.
class ProgressThread {
 public:
  struct Options {
    std::int64_t busy_poll_ns = 20'000;   ///< Between calls while a rearrangement runs,
    std::int64_t idle_poll_ns = 500'000;  ///< and while none does: counts still have to be taken.
    /// First thing on the thread, such as to choose its device or its core.
    std::function<void()> on_start = {};
    /// Made with the balancer; keeps what the two entries do. Null: nobody does.
    Recording* recording = nullptr;
  };

  /// From now on only this object touches the balancer, which must outlive it.
  ProgressThread(Balancer& balancer, Options options);

  /// Waits for the call under way.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ProgressThread(ProgressThread&&) = delete;
  ProgressThread& operator=(ProgressThread&&) = delete;

  /// Balancer::on_step. Then the thread looks at once what there is to do. Rethrows what on_start
  /// or progress has thrown, after which nobody calls progress any more.
  [[nodiscard]] StepDecision on_step(StepKind kind);

  /// What `use(Balancer&)` returns, called while neither entry runs.
  template <typename Use>
  auto with_balancer(Use&& use) {
    const Turn turn(*this, false);
    return std::forward<Use>(use)(balancer_);
  }

  /// The longest call of progress so far.
  [[nodiscard]] std::int64_t longest_progress_ns() const { return longest_progress_ns_; }

  /// The longest that on_step or with_balancer had to wait for one.
  [[nodiscard]] std::int64_t longest_wait_ns() const { return longest_wait_ns_; }

 private:
  /// The balancer is its owner's, and no one else's.
  class Turn {
   public:
    /// Afterwards the thread looks at once what there is to do, if `wakes`.
    Turn(ProgressThread& owner, bool wakes);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn(Turn&&) = delete;
    Turn& operator=(Turn&&) = delete;

   private:
    ProgressThread& owner_;
    bool wakes_;
    std::unique_lock<std::mutex> lock_;
  };

  void run();
  [[nodiscard]] bool progress();

  Balancer& balancer_;
  const Options options_;
  const MonotonicClock clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::int32_t> wanting_ = 0;  ///< Callers that have the lock or wait for it.
  bool woken_ = false;
  bool stopping_ = false;
  std::exception_ptr thrown_;
  std::atomic<std::int64_t> longest_progress_ns_ = 0;
  std::atomic<std::int64_t> longest_wait_ns_ = 0;
  std::thread thread_;
};

}  // namespace eplb::group
