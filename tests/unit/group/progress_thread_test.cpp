// Goal: a balancer's two entries never run at once, a step never waits for more than the call it
// comes upon, and what goes wrong beside it is told to it. Method: one rank of two in a scripted
// world whose planner tells who is in it, never has enough, or throws.
#include "eplb/group/progress_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eventually.hpp"
#include "scripted_environment.hpp"
#include "served_group.hpp"

namespace eplb::group {
namespace {

using test::eventually;

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 2};

/// A planner whose poll does what the test says.
class PolledPlanner final : public env::Planner {
 public:
  void submit(PlanRequest /*request*/) override { ++submit_count; }

  [[nodiscard]] std::optional<env::PlanAnswer> poll() override {
    ++poll_count;
    return on_poll ? on_poll() : std::nullopt;
  }

  std::atomic<int> submit_count = 0;
  std::atomic<int> poll_count = 0;
  std::function<std::optional<env::PlanAnswer>()> on_poll;
};

/// Rank 0 of two, whose peer does as it does; a rearrangement is due after its fourth step.
struct Rank {
  Rank() : world(RankId{0}, 2) {
    world.recorder.logical = LoadMatrix::Ones(2, 4);
    world.recorder.physical = LoadMatrix::Ones(2, 4);
    const env::Environment scripted = world.environment();
    const env::Environment with_planner{.clock = scripted.clock,
                                        .queues = scripted.queues,
                                        .memory = scripted.memory,
                                        .transport = scripted.transport,
                                        .control_plane = scripted.control_plane,
                                        .load_recorder = scripted.load_recorder,
                                        .map_publisher = scripted.map_publisher,
                                        .planner = planner,
                                        .trace_sink = scripted.trace_sink,
                                        .fault_points = scripted.fault_points};
    EplbOptions options;
    options.window_size = 4;
    options.step_interval = 16;
    balancer = Balancer::create(test::settings_of(kShape, options), with_planner).value();
  }

  test::ScriptedEnvironment world;
  PolledPlanner planner;
  std::unique_ptr<Balancer> balancer;
};

/// Runs steps until the balancer waits for its plan.
void step_to_planning(ProgressThread& thread, const PolledPlanner& planner) {
  for (int step = 0; step < 4; ++step) {
    REQUIRE(thread.on_step(StepKind::kReal) == StepDecision::kProceed);
  }
  REQUIRE(eventually([&] { return planner.submit_count == 1; }));
}

TEST_CASE("the progress thread carries a rearrangement on while nobody steps") {
  Rank rank;
  ProgressThread thread(*rank.balancer, {});
  step_to_planning(thread, rank.planner);
  CHECK(thread.with_balancer([](Balancer& balancer) { return balancer.state(); }) ==
        MigrationState::kPlanning);
  const int polls = rank.planner.poll_count;
  CHECK(eventually([&] { return rank.planner.poll_count > polls + 2; }));
  CHECK(thread.longest_progress_ns() > 0);
}

TEST_CASE("a step and progress are never in the balancer at once") {
  Rank rank;
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  rank.planner.on_poll = [&]() -> std::optional<env::PlanAnswer> {
    met = met || ++inside > 1;
    std::this_thread::yield();
    --inside;
    return std::nullopt;
  };
  ProgressThread thread(*rank.balancer, {.busy_poll_ns = 0});
  step_to_planning(thread, rank.planner);
  for (int step = 0; step < 500; ++step) {
    thread.with_balancer([&](Balancer& /*balancer*/) {
      met = met || ++inside > 1;
      std::this_thread::yield();
      --inside;
    });
  }
  CHECK_FALSE(met);
  CHECK(thread.longest_wait_ns() > 0);
}

TEST_CASE("a step gets its turn from a progress that always asks to be called again") {
  Rank rank;
  rank.planner.on_poll = [] {
    return std::optional(env::PlanAnswer{.rearrangement = -1, .schedule = nullptr});
  };
  ProgressThread thread(*rank.balancer, {});
  step_to_planning(thread, rank.planner);
  for (int step = 0; step < 100; ++step) {
    const int polls = rank.planner.poll_count;
    REQUIRE(thread.on_step(StepKind::kReal) == StepDecision::kProceed);
    REQUIRE(eventually([&] { return rank.planner.poll_count > polls; }));
  }
}

TEST_CASE("what progress throws is kept, and thrown by the next step") {
  Rank rank;
  rank.planner.on_poll = []() -> std::optional<env::PlanAnswer> {
    throw std::runtime_error("device lost");
  };
  ProgressThread thread(*rank.balancer, {});
  step_to_planning(thread, rank.planner);
  const auto step_throws = [&] {
    try {
      return thread.on_step(StepKind::kReal) == StepDecision::kStop;
    } catch (const std::runtime_error& error) {
      return std::string(error.what()) == "device lost";
    }
  };
  CHECK(eventually(step_throws));
  CHECK_THROWS_WITH(static_cast<void>(thread.on_step(StepKind::kReal)), "device lost");
  CHECK(rank.planner.poll_count == 1);
  CHECK(thread.with_balancer([](Balancer& balancer) { return balancer.state(); }) ==
        MigrationState::kPlanning);
}

TEST_CASE("on_start runs on the progress thread before any call, and may throw") {
  Rank rank;
  std::atomic<std::thread::id> started_on = {};
  {
    const ProgressThread thread(*rank.balancer,
                                {.on_start = [&] { started_on = std::this_thread::get_id(); }});
    CHECK(eventually([&] { return started_on.load() != std::thread::id(); }));
  }
  CHECK(started_on.load() != std::this_thread::get_id());

  ProgressThread thread(*rank.balancer,
                        {.on_start = [] { throw std::runtime_error("no such core"); }});
  CHECK(eventually([&] {
    try {
      return thread.on_step(StepKind::kReal) == StepDecision::kStop;
    } catch (const std::runtime_error& error) {
      return std::string(error.what()) == "no such core";
    }
  }));
}

}  // namespace
}  // namespace eplb::group
