// Goal: the checker sees each promise broken, and nothing where none is. Method: a checker beside a
// group that has not served a step, shown counts, logs and plans made by hand.
#include "trial/checker.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "fixed_policy.hpp"
#include "fixed_timing.hpp"
#include "rows.hpp"
#include "served_group.hpp"

namespace eplb::sim {
namespace {

constexpr Shape kShape{
    .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};

/// Slots hold the experts 0 1 | 2 0.
struct World {
  test::FixedPolicy policy{Placement::initial(kShape)};
  test::ServedGroup served{{.settings = test::settings_of(kShape, {})}, policy};
  Swarm swarm;
  EventEngine engine;
  Violations violations;
  Checker checker{swarm, engine, violations};

  World() {
    swarm.shape = kShape;
    swarm.eplb.window_size = 2;
    checker.taken() = {std::make_shared<std::vector<LoadMatrix>>(),
                       std::make_shared<std::vector<LoadMatrix>>()};
  }

  [[nodiscard]] std::vector<std::string> seen() const {
    std::vector<std::string> texts;
    for (const Violation& violation : violations.list()) {
      texts.push_back(violation.what);
    }
    return texts;
  }
};

using Texts = std::vector<std::string>;

LoadMatrix row_of(const std::vector<std::int64_t>& values) {
  return Eigen::Map<const LoadMatrix>(values.data(), 1, static_cast<Eigen::Index>(values.size()));
}

env::TraceRecord trace_of(std::int32_t rank, env::TraceEvent event, std::int64_t subject,
                          std::int64_t value) {
  return {.time_ns = 0, .rank = RankId{rank}, .event = event, .subject = subject, .value = value};
}

TEST_CASE("content: a slot that does not hold its expert, or an older loading of it, is seen") {
  World world;
  world.checker.check_forward(world.served.group(), 0);
  CHECK(world.seen().empty());
  world.served.group().rows().set(test::weights_row(1, 0, 0), {.layer = 0, .expert = 1});
  world.checker.check_forward(world.served.group(), 0);
  CHECK(world.seen() == Texts{"content: layer 0 slot 2 serves expert 2 and holds layer 0 expert 1 "
                              "version 0 (now 0)"});
  World asleep;
  asleep.checker.check_forward(asleep.served.group(), 1);
  CHECK(asleep.seen().size() == 4);
}

TEST_CASE("conservation: physical counts must fold to the logical ones") {
  World world;
  const LoadMatrix logical = row_of({5, 2, 4});
  world.checker.check_counts(world.served.group(), RankId{0},
                             {.logical = logical, .physical = row_of({3, 2, 4, 2})});
  CHECK(world.seen().empty());
  world.checker.check_counts(world.served.group(), RankId{1},
                             {.logical = logical, .physical = row_of({3, 4, 2, 2})});
  CHECK(world.seen() ==
        Texts{"conservation: physical counts of rank 1 do not fold to the logical ones"});
}

TEST_CASE("balancedness: a log must state its step's value, and steps must come in order") {
  World world;
  // Ranks have 5 and 5, then 9 and 3 of both ranks' tokens: 6 / 9.
  world.checker.expect_balancedness(0, kShape, {{row_of({5, 2, 4}), row_of({3, 2, 4, 1})}});
  world.checker.expect_balancedness(
      1, kShape,
      {{row_of({5, 1, 0}), row_of({5, 1, 0, 0})}, {row_of({4, 1, 1}), row_of({2, 1, 1, 2})}});
  world.checker.on_trace(trace_of(0, env::TraceEvent::kBalancedness, 0, 1'000'000));
  world.checker.on_trace(trace_of(0, env::TraceEvent::kBalancedness, 1, 666'667));
  CHECK(world.seen().empty());
  world.checker.on_trace(trace_of(1, env::TraceEvent::kBalancedness, 1, 750'000));
  world.checker.on_trace(trace_of(1, env::TraceEvent::kBalancedness, 0, 1'000'000));
  CHECK(world.seen() == Texts{"balancedness: rank 1 logs 750000 of step 1",
                              "balancedness: rank 1 logs step 0 after step 1"});
  CHECK(world.checker.reached().contains("log"));
}

/// Of a window in two parts.
PlanRequest request_of(const std::vector<double>& older, const std::vector<double>& newer) {
  PlanRequest request{.rearrangement = 3,
                      .shape = kShape,
                      .topology = Topology::create({.rank_count = 2}).value(),
                      .staying = {},
                      .history = {},
                      .window_part_count = 2,
                      .current = nullptr,
                      .costs = {},
                      .schedule = {}};
  for (const std::vector<double>& part : {older, newer}) {
    request.history.push_back(std::make_shared<const RealLoadMatrix>(
        Eigen::Map<const RealLoadMatrix>(part.data(), 1, 3)));
  }
  return request;
}

TEST_CASE("window: a plan must be made from the newest recorded steps of all ranks") {
  World world;
  // The window holds two passes, so rank 0's first one has left it.
  *world.checker.taken()[0] = {row_of({9, 9, 9}), row_of({1, 2, 3}), row_of({1, 0, 0})};
  *world.checker.taken()[1] = {row_of({0, 0, 5})};
  for (const std::int32_t rank : {0, 1}) {
    world.checker.on_trace(trace_of(rank, env::TraceEvent::kAggregating, 3, 0));
  }
  world.checker.on_plan_request(RankId{0}, request_of({1, 2, 3}, {1, 0, 5}));
  CHECK(world.seen().empty());
  world.checker.on_plan_request(RankId{1}, request_of({1, 2, 3}, {1, 0, 4}));
  CHECK(world.seen() ==
        Texts{"window: rank 1 plans rearrangement 3 from other counts than the newest recorded "
              "steps"});
}

TEST_CASE("window: too few parts are seen") {
  World world;
  PlanRequest request = request_of({1, 1, 1}, {1, 1, 1});
  request.history.pop_back();
  world.checker.on_plan_request(RankId{0}, request);
  CHECK(world.seen() == Texts{"window: rank 0 plans from 1 parts"});
}

TEST_CASE("window: two ranks take it for other numbers of steps") {
  World world;
  PlanRequest request = request_of({1, 1, 1}, {1, 1, 1});
  request.window_steps = 4;
  world.checker.on_plan_request(RankId{0}, request);
  world.checker.on_plan_request(RankId{1}, request);
  CHECK(world.seen().empty());
  request.window_steps = 3.5;
  world.checker.on_plan_request(RankId{2}, request);
  CHECK(world.seen() ==
        Texts{"window: rank 2 takes it for 3.5 steps in rearrangement 3, others for 4"});
}

TEST_CASE("what worlds come to is noted: two commits in a step, holds, aborts by their cause") {
  World world;
  world.checker.on_trace(trace_of(0, env::TraceEvent::kCommit, 0, 1));
  world.checker.on_trace(trace_of(1, env::TraceEvent::kCommit, 0, 1));
  CHECK(world.checker.reached().empty());
  world.checker.on_trace(trace_of(0, env::TraceEvent::kCommit, 1, 1));
  world.checker.on_trace(trace_of(0, env::TraceEvent::kStep, 7, 1));
  world.checker.on_trace(trace_of(0, env::TraceEvent::kAborting, 1,
                                  static_cast<std::int64_t>(FailureCause::kStalled)));
  CHECK(world.checker.reached().contains("several layers committed in a step"));
  CHECK(world.checker.reached().contains("hold in async mode"));
  CHECK(
      world.checker.reached().contains("abort: " + std::string(to_string(FailureCause::kStalled))));
}

}  // namespace
}  // namespace eplb::sim
