// Goal: a rank's memory, maps, recorder and planner keep their promises, and catch a balancer that
// breaks its own. Method: each service alone on one rank, times worked by hand.
#include "eplb/sim/group/host_services.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "fixed_policy.hpp"
#include "fixed_timing.hpp"
#include "rows.hpp"

namespace eplb::sim {
namespace {

constexpr Shape kShape{
    .layer_count = 1, .expert_count = 2, .redundant_slot_count = 0, .rank_count = 1};

struct World {
  EventEngine engine;
  Violations violations;
  RowStore rows{engine, violations, 2};
  test::FixedTiming timing;
  FlightCarrier carrier{engine, timing};
  test::CountingHost host;
  SimQueue forward{engine, rows, carrier, host};

  [[nodiscard]] SimLoadRecorder recorder(bool counts_here = true) {
    return {engine, timing, host, violations, {.rank = RankId{0}, .counts_here = counts_here}};
  }
};

LoadMatrix counts(std::int64_t value) {
  return LoadMatrix::Constant(1, 2, value);
}

TEST_CASE("memory that is refused is not reserved") {
  World world;
  world.timing.refusing_memory = RankId{1};
  SimMemory first(world.rows, world.timing, RankId{0});
  SimMemory second(world.rows, world.timing, RankId{1});
  const env::MemoryLayout layout{.slots_per_rank = 1, .landing_rows = 1, .row_bytes = {1000}};
  CHECK(first.reserve(layout).has_value());
  const auto refused = second.reserve(layout);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kResourceExhausted);
  CHECK(world.rows.landing_rows(RankId{1}) == 0);
  first.release();
  CHECK(first.reserve(layout).has_value());
}

TEST_CASE("a map becomes visible at its point of the forward queue, with its epoch") {
  World world;
  const Placement initial = test::placement_of(kShape, {0, 1});
  const Placement swapped = test::placement_of(kShape, {1, 0});
  const LayerMap new_map = LayerMap::from(swapped.layer(LayerId{0}));
  SimMapPublisher maps(world.forward, world.timing, RankId{0}, initial);
  CHECK(maps.map(LayerId{0}) == LayerMap::from(initial.layer(LayerId{0})));
  CHECK(maps.epoch(LayerId{0}) == 0);
  world.forward.forward();
  maps.publish(LayerId{0}, new_map, 1);
  test::run_all(world.engine);
  CHECK(maps.map(LayerId{0}) == LayerMap::from(initial.layer(LayerId{0})));
  world.forward.finish_forward();
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 2);
  CHECK(maps.map(LayerId{0}) == new_map);
  CHECK(maps.epoch(LayerId{0}) == 1);
  CHECK(maps.change_count() == 1);
}

TEST_CASE("passes land late and in order, the newer not before the older") {
  World world;
  SimLoadRecorder recorder = world.recorder();
  recorder.set_recording(true);
  world.timing.counts_ns = 50;
  recorder.count(counts(1), counts(1));
  recorder.close_pass(7, {.record = true});
  world.timing.counts_ns = 5;
  recorder.count(counts(2), counts(3));
  recorder.close_pass(8, {.record = true, .log = true});
  CHECK(recorder.try_take() == nullptr);
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 50);
  CHECK(world.host.wake_count == 2);
  const env::RecordedPass* pass = recorder.try_take();
  REQUIRE(pass != nullptr);
  CHECK(pass->step == 7);
  CHECK(pass->use.record);
  CHECK(pass->logical == counts(1));
  CHECK(pass->physical.size() == 0);
  pass = recorder.try_take();
  REQUIRE(pass != nullptr);
  CHECK(pass->step == 8);
  CHECK(pass->logical == counts(2));
  CHECK(pass->physical == counts(3));
  CHECK(recorder.try_take() == nullptr);
}

TEST_CASE("a dummy pass is all zeros, and says what it was") {
  World world;
  SimLoadRecorder recorder = world.recorder();
  recorder.set_recording(true);
  recorder.count(counts(1), counts(1));
  recorder.close_pass(0, {.log = true, .dummy = true});
  test::run_all(world.engine);
  const env::RecordedPass* pass = recorder.try_take();
  REQUIRE(pass != nullptr);
  CHECK(pass->use.dummy);
  CHECK(pass->logical == counts(0));
  CHECK(pass->physical == counts(0));
}

TEST_CASE("a pass without a use is cleared and never handed out") {
  World world;
  SimLoadRecorder recorder = world.recorder();
  recorder.set_recording(true);
  recorder.count(counts(1), counts(1));
  recorder.close_pass(0, {});
  test::run_all(world.engine);
  CHECK(recorder.try_take() == nullptr);
  recorder.close_pass(1, {.record = true});
  REQUIRE(world.violations.list().size() == 1);
  CHECK(world.violations.list()[0].what == "rank 0: a pass is used whose gate was shut");
}

TEST_CASE("a rank that counts nothing hands out nothing and is not blamed for it") {
  World world;
  SimLoadRecorder recorder = world.recorder(false);
  recorder.set_recording(true);
  recorder.close_pass(0, {.record = true});
  test::run_all(world.engine);
  CHECK_FALSE(recorder.counts_here());
  CHECK(recorder.try_take() == nullptr);
  CHECK_FALSE(world.violations.any());
}

TEST_CASE("a gate that is written without a flip is caught, the first write is not") {
  World world;
  SimLoadRecorder recorder = world.recorder();
  recorder.set_recording(false);
  recorder.set_recording(true);
  CHECK(recorder.gate());
  recorder.set_recording(false);
  CHECK_FALSE(world.violations.any());
  recorder.set_recording(false);
  REQUIRE(world.violations.list().size() == 1);
  CHECK(world.violations.list()[0].what == "rank 0: the gate was written without a flip");
}

TEST_CASE("only recorded passes of real tokens are kept for whoever recounts them") {
  World world;
  SimLoadRecorder recorder = world.recorder();
  std::vector<LoadMatrix> taken;
  recorder.keep_taken(&taken);
  recorder.set_recording(true);
  for (const env::PassUse use : {env::PassUse{.record = true}, env::PassUse{.log = true},
                                 env::PassUse{.record = true, .dummy = true}}) {
    recorder.count(counts(4), counts(4));
    recorder.close_pass(0, use);
  }
  test::run_all(world.engine);
  while (recorder.try_take() != nullptr) {
  }
  CHECK(taken == std::vector<LoadMatrix>{counts(4)});
}

PlanRequest request_of(std::int64_t rearrangement, double load) {
  return {.rearrangement = rearrangement,
          .shape = kShape,
          .topology = Topology::create({.rank_count = 1}).value(),
          .staying = {},
          .history = {std::make_shared<const RealLoadMatrix>(RealLoadMatrix::Constant(1, 2, load))},
          .current = std::make_shared<const Placement>(Placement::initial(kShape)),
          .costs = {},
          .schedule = {.landing_rows = 2, .row_bytes = {1000}}};
}

TEST_CASE("the plan desk works out equal requests once, and others anew") {
  const test::FixedPolicy policy(test::placement_of(kShape, {1, 0}));
  SimPlanDesk desk(policy);
  const auto first = desk.answer(request_of(1, 3)).value();
  CHECK(desk.answer(request_of(1, 3)).value() == first);
  CHECK(policy.call_count() == 1);
  CHECK(first->layer_count() == 1);
  CHECK(desk.answer(request_of(1, 4)).has_value());
  CHECK(policy.call_count() == 2);
  CHECK(desk.answer(request_of(2, 4)).has_value());
  CHECK(policy.call_count() == 3);
}

TEST_CASE("answers of a planner come late and in order of their requests") {
  World world;
  const test::FixedPolicy policy(test::placement_of(kShape, {1, 0}));
  SimPlanDesk desk(policy);
  SimPlanner planner(world.engine, world.timing, world.host, desk, RankId{0});
  world.timing.policy_ns = 100;
  planner.submit(request_of(1, 3));
  world.timing.policy_ns = 10;
  planner.submit(request_of(2, 3));
  CHECK_FALSE(planner.poll().has_value());
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 100);
  CHECK(world.host.wake_count == 2);
  CHECK(planner.poll()->rearrangement == 1);
  CHECK(planner.poll()->rearrangement == 2);
  CHECK_FALSE(planner.poll().has_value());
}

TEST_CASE("a policy's refusal is the answer, and an inspector may change it") {
  World world;
  const test::FixedPolicy policy(fail(ErrorCode::kInvalidArgument, "no such shape"));
  SimPlanDesk desk(policy);
  SimPlanner planner(world.engine, world.timing, world.host, desk, RankId{0});
  std::int64_t inspected = 0;
  planner.inspect([&](const PlanRequest& request, SimPlanDesk::Answer& answer) {
    inspected = request.rearrangement;
    CHECK(answer.error().message == "no such shape");
    answer = fail(ErrorCode::kInternal, "spoilt");
  });
  planner.submit(request_of(9, 3));
  test::run_all(world.engine);
  CHECK(inspected == 9);
  CHECK(planner.poll()->schedule.error().message == "spoilt");
}

}  // namespace
}  // namespace eplb::sim
