// Goal: the planner thread gives the plans that plan_rearrangement gives, in order, without ever
// making its caller wait. Method: policies that wait for the test, refuse, or throw.
#include "eplb/group/planner_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "eventually.hpp"
#include "function_policy.hpp"

namespace eplb::group {
namespace {

using test::eventually;
using test::FunctionPolicy;

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 2};

PlanRequest request_of(std::int64_t rearrangement) {
  return {.rearrangement = rearrangement,
          .shape = kShape,
          .topology = Topology::create({.rank_count = 2}).value(),
          .staying = std::nullopt,
          .history = {std::make_shared<const RealLoadMatrix>(RealLoadMatrix::Ones(2, 4))},
          .window_part_count = 1,
          .current = std::make_shared<const Placement>(Placement::initial(kShape)),
          .costs = {},
          .schedule = {.landing_rows = 2, .row_bytes = {100, 100}}};
}

env::PlanAnswer next_answer(PlannerThread& planner) {
  std::optional<env::PlanAnswer> answer;
  REQUIRE(eventually([&] {
    answer = planner.poll();
    return answer.has_value();
  }));
  return *std::move(answer);
}

/// Says that it has begun, then waits until it may go on.
struct WaitingPolicy {
  std::promise<void> released;
  std::shared_future<void> may_go_on = released.get_future().share();
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  FunctionPolicy policy = FunctionPolicy([this](const PolicyProblem& problem) {
    ++begun;
    may_go_on.wait();
    Placement answer = test::rotated(*problem.current);
    ++ended;
    return answer;
  });
};

TEST_CASE("the planner thread answers in order, as plan_rearrangement does") {
  const FunctionPolicy policy = test::rotating_policy();
  PlannerThread planner(policy);
  for (const std::int64_t number : {7, 8, 9}) {
    planner.submit(request_of(number));
  }
  const std::uint64_t digest = plan_rearrangement(request_of(7), policy).value()->digest;
  for (const std::int64_t number : {7, 8, 9}) {
    const env::PlanAnswer answer = next_answer(planner);
    CHECK(answer.rearrangement == number);
    REQUIRE(answer.schedule.has_value());
    CHECK((*answer.schedule)->digest == digest);
    CHECK((*answer.schedule)->remote_transfer_count() == 8);
  }
  CHECK_FALSE(planner.poll().has_value());
}

TEST_CASE("neither submit nor poll waits for a plan under way") {
  WaitingPolicy waiting;
  PlannerThread planner(waiting.policy);
  planner.submit(request_of(1));
  REQUIRE(eventually([&] { return waiting.begun == 1; }));
  planner.submit(request_of(2));
  CHECK_FALSE(planner.poll().has_value());
  CHECK(waiting.begun == 1);
  waiting.released.set_value();
  CHECK(next_answer(planner).rearrangement == 1);
  CHECK(next_answer(planner).rearrangement == 2);
}

TEST_CASE("a planner thread that is let go ends the plan under way first") {
  WaitingPolicy waiting;
  std::future<void> releasing;
  {
    PlannerThread planner(waiting.policy);
    planner.submit(request_of(1));
    REQUIRE(eventually([&] { return waiting.begun == 1; }));
    releasing = std::async(std::launch::async, [&] { waiting.released.set_value(); });
  }
  CHECK(waiting.ended == 1);
}

/// Refuses its first problem and throws at any other.
class FailingPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "failing"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& /*problem*/) const override {
    if (calls_++ == 0) {
      return fail(ErrorCode::kInvalidArgument, "not this shape");
    }
    throw std::runtime_error("no more memory");
  }

 private:
  mutable int calls_ = 0;
};

TEST_CASE("a policy that refuses or throws is answered by its error, and the next one is asked") {
  const FailingPolicy policy;
  PlannerThread planner(policy);
  planner.submit(request_of(1));
  planner.submit(request_of(2));
  const env::PlanAnswer refused = next_answer(planner);
  REQUIRE_FALSE(refused.schedule.has_value());
  CHECK(refused.schedule.error().code == ErrorCode::kInvalidArgument);
  CHECK(refused.schedule.error().message == "not this shape");
  const env::PlanAnswer thrown = next_answer(planner);
  CHECK(thrown.rearrangement == 2);
  REQUIRE_FALSE(thrown.schedule.has_value());
  CHECK(thrown.schedule.error().code == ErrorCode::kInternal);
  CHECK(thrown.schedule.error().message == "policy failing has thrown: no more memory");
}

}  // namespace
}  // namespace eplb::group
