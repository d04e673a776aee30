#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "eplb/core/env/planner.hpp"
#include "eplb/core/policy.hpp"

namespace eplb::group {

/// Plans on a thread of its own, one request after the other.
class PlannerThread final : public env::Planner {
 public:
  /// The policy must outlive it, and is asked by its thread alone. A policy that throws has failed:
  /// its request is answered with kInternal.
  explicit PlannerThread(const PlacementPolicy& policy);

  /// Drops the requests that it has not begun. Waits for the plan under way, as long as the policy
  /// takes for it.
  ~PlannerThread() override;
  PlannerThread(const PlannerThread&) = delete;
  PlannerThread& operator=(const PlannerThread&) = delete;
  PlannerThread(PlannerThread&&) = delete;
  PlannerThread& operator=(PlannerThread&&) = delete;

  void submit(PlanRequest request) override;

  /// Never waits for the thread: an answer that it is handing over is there at the next call.
  [[nodiscard]] std::optional<env::PlanAnswer> poll() override;

 private:
  void run();

  const PlacementPolicy& policy_;
  std::mutex mutex_;  ///< Held to move a request or an answer, never while a plan is made.
  std::condition_variable submitted_;
  std::deque<PlanRequest> requests_;
  std::deque<env::PlanAnswer> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace eplb::group
