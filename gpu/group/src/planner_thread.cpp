#include "eplb/group/planner_thread.hpp"

#include <exception>
#include <string>
#include <utility>

namespace eplb::group {
namespace {

/// A policy may be a user's own: what it throws must not end the process.
env::PlanAnswer answer_to(const PlanRequest& request, const PlacementPolicy& policy) {
  const auto failed = [&](const std::string& what) {
    return env::PlanAnswer{
        .rearrangement = request.rearrangement,
        .schedule = fail(ErrorCode::kInternal,
                         "policy " + std::string(policy.name()) + " has thrown: " + what)};
  };
  try {
    return {.rearrangement = request.rearrangement,
            .schedule = plan_rearrangement(request, policy)};
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("something that is no std::exception");
  }
}

}  // namespace

PlannerThread::PlannerThread(const PlacementPolicy& policy) : policy_(policy) {
  thread_ = std::thread([this] { run(); });
}

PlannerThread::~PlannerThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

void PlannerThread::submit(PlanRequest request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  submitted_.notify_one();
}

std::optional<env::PlanAnswer> PlannerThread::poll() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || answers_.empty()) {
    return std::nullopt;
  }
  env::PlanAnswer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void PlannerThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    submitted_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
    if (stopping_) {
      return;
    }
    const PlanRequest request = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    env::PlanAnswer answer = answer_to(request, policy_);
    lock.lock();
    answers_.push_back(std::move(answer));
  }
}

}  // namespace eplb::group
