// Goal: cadence, recording gate, triggers, commits and holds are those of the reference
// (eplb-semantics 3.2) and of the architecture. Method: a balancer on an environment driven by
// hand.
#include "eplb/core/balancer.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "fixed_policy.hpp"
#include "scripted_environment.hpp"

namespace eplb {
namespace {

using env::TraceEvent;

constexpr Shape kShape{
    .layer_count = 3, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};

/// A balancer with interval 8 and window 3, on loads of one token an expert.
struct Fixture {
  explicit Fixture(bool use_async = true) {
    environment.pass = LoadMatrix::Ones(kShape.layer_count, kShape.expert_count);
    EplbOptions options;
    options.num_redundant_experts = kShape.redundant_slot_count;
    options.window_size = 3;
    options.step_interval = 8;
    options.window_parts = 1;
    options.history_parts = 2;
    options.use_async = use_async;
    const Topology topology =
        Topology::create({.rank_count = 2, .ranks_per_node = 2, .ranks_per_domain = 2}).value();
    balancer =
        Balancer::create({.options = options, .shape = kShape, .topology = topology, .costs = {}},
                         environment.environment())
            .value();
  }

  StepDecision step(StepKind kind = StepKind::kReal) { return balancer->on_step(kind); }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      REQUIRE(step() == StepDecision::kProceed);
    }
  }

  /// All layers [0,1,2 | 3,0,1] -> [3,0,1 | 0,1,2]: three experts of each rank change place.
  [[nodiscard]] static Placement swapped() {
    return test::placement_of(kShape, {3, 0, 1, 0, 1, 2});
  }

  test::ScriptedEnvironment environment;
  std::unique_ptr<Balancer> balancer;
};

TEST_CASE("the first trigger comes after a quarter of the interval, the next an interval later") {
  Fixture f;
  f.steps(1);
  CHECK(f.environment.windows.empty());
  f.steps(1);
  REQUIRE(f.environment.windows.size() == 1);
  f.environment.plan = f.balancer->placement();
  f.balancer->progress();
  f.steps(7);
  CHECK(f.environment.windows.size() == 1);
  f.steps(1);
  CHECK(f.environment.windows.size() == 2);
}

TEST_CASE("only the last window_size steps before a trigger are recorded") {
  Fixture f;
  f.steps(2);
  f.environment.plan = f.balancer->placement();
  f.balancer->progress();
  f.steps(8);
  // The counter starts at 6 of 8, so the gate is open; it shuts at the trigger and opens again when
  // 3 steps are left: after the counter has reached 5.
  CHECK(f.environment.gate == std::vector<bool>{true, false, true, false});
  CHECK(f.environment.kept ==
        std::vector<bool>{true, true, false, false, false, false, false, true, true, true});
  CHECK(f.environment.windows[0] == RealLoadMatrix::Constant(3, 4, 2));
  CHECK(f.environment.windows[1] == RealLoadMatrix::Constant(3, 4, 3));
  CHECK(f.environment.history_sizes == std::vector<std::size_t>{1, 2});
}

TEST_CASE("dummy steps move the counter but are not recorded, and profile steps move nothing") {
  Fixture f;
  for (int i = 0; i < 5; ++i) {
    CHECK(f.step(StepKind::kProfile) == StepDecision::kProceed);
  }
  CHECK(f.environment.windows.empty());
  f.steps(1);
  CHECK(f.step(StepKind::kDummy) == StepDecision::kProceed);
  REQUIRE(f.environment.windows.size() == 1);
  CHECK(f.environment.windows[0] == RealLoadMatrix::Constant(3, 4, 1));
  CHECK(f.environment.kept == std::vector<bool>{false, false, false, false, false, true, false});
}

TEST_CASE("without any load the placement stays and the policy is not asked") {
  Fixture f;
  f.environment.pass.setZero();
  f.steps(30);
  CHECK(f.environment.windows.empty());
  CHECK(f.environment.count(TraceEvent::kPlanSkipped) == 4);
  CHECK(f.balancer->placement() == Placement::initial(kShape));
}

TEST_CASE("a layer commits at the step after it has landed, with a new epoch") {
  Fixture f;
  f.steps(2);
  f.environment.plan = Fixture::swapped();
  f.balancer->progress();
  REQUIRE(f.environment.started.size() == 1);
  f.steps(1);
  CHECK(f.environment.published.empty());
  f.environment.landed_ticket_max = 1;
  f.balancer->progress();
  CHECK(f.environment.published.empty());
  f.steps(1);
  using Published = std::vector<std::pair<std::int32_t, std::int64_t>>;
  CHECK(f.environment.published == Published{{0, 1}});
  CHECK(f.balancer->placement().layer(LayerId{0}) == Fixture::swapped().layer(LayerId{0}));
  CHECK(f.balancer->placement().layer(LayerId{1}) == Placement::initial(kShape).layer(LayerId{1}));
}

TEST_CASE("a layer waits for landing rows until the one before has committed") {
  Fixture f;
  f.steps(2);
  f.environment.plan = Fixture::swapped();
  f.balancer->progress();
  f.environment.landed_ticket_max = 1;
  f.balancer->progress();
  f.balancer->progress();
  // Each layer takes all three rows of a rank, and the pool holds three.
  CHECK(f.environment.started.size() == 1);
  f.steps(1);
  f.balancer->progress();
  CHECK(f.environment.started.size() == 2);
}

TEST_CASE("layers that fit together are sent one after another and commit in one step") {
  Fixture f;
  f.steps(2);
  // Rank 0 exchanges one expert: [0,1,2 | 3,0,1] -> [0,1,3 | 3,0,2].
  f.environment.plan = test::placement_of(kShape, {0, 1, 3, 3, 0, 2});
  f.balancer->progress();
  f.environment.landed_ticket_max = 3;
  f.balancer->progress();
  f.balancer->progress();
  f.balancer->progress();
  REQUIRE(f.environment.started.size() == 3);
  f.steps(1);
  CHECK(f.environment.published.size() == 3);
  REQUIRE(f.balancer->rearrangements().size() == 1);
  CHECK(f.balancer->rearrangements()[0].moved_experts == 6);
  CHECK_FALSE(f.balancer->rearranging());
}

TEST_CASE("unchanged layers are skipped, and a plan that changes nothing ends at the next step") {
  Fixture f;
  f.steps(2);
  f.environment.plan =
      Placement::initial(kShape).with_layer(LayerId{1}, Fixture::swapped().layer(LayerId{1}));
  f.balancer->progress();
  REQUIRE(f.environment.started.size() == 1);
  CHECK(f.environment.started[0].layer == LayerId{1});
  f.environment.landed_ticket_max = 1;
  f.balancer->progress();
  f.steps(1);
  CHECK(f.balancer->rearrangements().size() == 1);
  f.steps(7);
  f.environment.plan = f.balancer->placement();
  f.balancer->progress();
  f.steps(1);
  CHECK(f.balancer->rearrangements().size() == 2);
  CHECK(f.environment.started.size() == 1);
}

TEST_CASE("a rearrangement that overruns the interval is followed by the next one at once") {
  Fixture f;
  f.steps(2);
  f.steps(20);
  CHECK(f.environment.windows.size() == 1);
  f.environment.plan = f.balancer->placement();
  f.balancer->progress();
  f.steps(1);
  CHECK(f.environment.windows.size() == 2);
}

TEST_CASE("sync mode holds from the trigger to the last commit and counts the step once") {
  Fixture f(false);
  f.steps(1);
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kHold);
  f.environment.plan = test::placement_of(kShape, {0, 1, 3, 3, 0, 2});
  f.environment.landed_ticket_max = 3;
  for (int i = 0; i < 4; ++i) {
    CHECK(f.step() == StepDecision::kHold);
    f.balancer->progress();
  }
  CHECK(f.step() == StepDecision::kProceed);
  REQUIRE(f.balancer->rearrangements().size() == 1);
  CHECK(f.balancer->rearrangements()[0].start_step == 1);
  CHECK(f.balancer->rearrangements()[0].end_step == 1);
  CHECK(f.environment.kept.size() == 2);
  f.steps(7);
  CHECK(f.step() == StepDecision::kHold);
}

TEST_CASE("a plan that fails leaves the placement, is reported, and is tried again") {
  Fixture f;
  f.steps(2);
  f.environment.plan = fail(ErrorCode::kInvalidArgument, "cannot");
  f.balancer->progress();
  REQUIRE(f.balancer->plan_error().has_value());
  CHECK(f.balancer->plan_error()->message == "cannot");
  CHECK_FALSE(f.balancer->rearranging());
  f.steps(8);
  CHECK(f.environment.windows.size() == 2);
  f.environment.plan = f.balancer->placement();
  f.balancer->progress();
  CHECK_FALSE(f.balancer->plan_error().has_value());
}

TEST_CASE("loads that land late are taken in order at later steps") {
  Fixture f;
  f.environment.hold_back_loads = true;
  f.steps(2);
  CHECK(f.environment.count(TraceEvent::kPlanSkipped) == 1);
  f.environment.hold_back_loads = false;
  f.steps(8);
  // Two late passes and three of the second gate, of which the window keeps the last three.
  REQUIRE(f.environment.windows.size() == 1);
  CHECK(f.environment.windows[0] == RealLoadMatrix::Constant(3, 4, 3));
}

TEST_CASE("settings that cannot work are refused") {
  test::ScriptedEnvironment environment;
  const Topology topology =
      Topology::create({.rank_count = 2, .ranks_per_node = 2, .ranks_per_domain = 2}).value();
  const auto refused = [&](const EplbOptions& options, const Shape& shape) {
    return !Balancer::create(
                {.options = options, .shape = shape, .topology = topology, .costs = {}},
                environment.environment())
                .has_value();
  };
  EplbOptions options;
  CHECK(refused(options, {.layer_count = 1, .expert_count = 5, .rank_count = 2}));
  options.window_size = 0;
  CHECK(refused(options, kShape));
  options = {};
  options.step_interval = 0;
  CHECK(refused(options, kShape));
  options = {};
  options.history_parts = 1;
  CHECK(refused(options, kShape));
}

}  // namespace
}  // namespace eplb
