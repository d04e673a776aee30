// Goal: the balancer hands its trigger what it needs, remembers what has moved, and asks it of no
// rearrangement that must come. Method: a rank on a scripted environment, whose plans are made by
// plan_rearrangement from loads and costs of round figures; a newcomer beside it.
#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;
using test::FixedPolicy;

/// Until the rearrangement at hand has ended.
void finish(BalancerFixture& f) {
  const std::size_t before = f.balancer().rearrangements().size();
  for (int count = 0; count < 5 && f.balancer().rearrangements().size() == before; ++count) {
    f.steps(1);
    f.settle();
  }
  REQUIRE(f.balancer().rearrangements().size() == before + 1);
}

EplbOptions options_with(const TriggerOptions& trigger) {
  EplbOptions options = test::small_options();
  options.trigger = trigger;
  return options;
}

constexpr PolicyCosts kTokens{.layer = {.ns_per_assignment = 1},
                              .migration = {.commit_start_ns = 1}};

/// Experts 1 and 2 are hot: of [0, 1, 2 | 3, 0, 1] rank 0 has 1.5 of them, and of the exchanged
/// [0, 1, 3 | 3, 0, 2] each has one.
struct TriggerFixture : BalancerFixture {
  explicit TriggerFixture(const TriggerOptions& trigger) : BalancerFixture(options_with(trigger)) {
    costs = kTokens;
    environment.recorder.logical.col(1).setConstant(1'000'000);
    environment.recorder.logical.col(2).setConstant(1'000'000);
  }

  /// Answers the newest request as a planner whose policy wants `after`.
  void plan(const Placement& after) {
    const PlanRequest& request = environment.planner.requests.back();
    environment.planner.answers.push_back(
        {.rearrangement = request.rearrangement,
         .schedule = plan_rearrangement(request, FixedPolicy(after))});
    settle();
  }

  [[nodiscard]] const TriggerProblem& asked() {
    REQUIRE(environment.planner.requests.back().trigger.has_value());
    return *environment.planner.requests.back().trigger;
  }

  [[nodiscard]] double window_steps() const {
    return environment.planner.requests.back().window_steps;
  }

  /// To the next trigger and its request.
  void ask_again() {
    const std::size_t before = environment.planner.requests.size();
    for (int count = 0; count < 20 && environment.planner.requests.size() == before; ++count) {
      steps(1);
      settle();
    }
    REQUIRE(environment.planner.requests.size() == before + 1);
  }
};

TEST_CASE("the trigger is told its horizon, the window's steps and what rows weigh") {
  TriggerFixture f({.price = 3, .hysteresis = 0.25, .cool_down = 4});
  f.ask_for_plan();
  CHECK(f.asked().options == TriggerOptions{.price = 3, .hysteresis = 0.25, .cool_down = 4});
  CHECK(f.asked().horizon_steps == 8);  // The interval.
  CHECK(f.window_steps() == 2);         // Of the three that the window could hold.
  CHECK(f.asked().row_bytes == std::vector<std::int64_t>{10, 100, 1000});
  CHECK(f.asked().rearrangements_since_move == std::vector<std::int64_t>{0, 0, 0});
  f.plan(f.balancer().placement());
  f.ask_again();
  CHECK(f.window_steps() == 3);
}

TEST_CASE("a horizon of its own, and steps that fade count less") {
  EplbOptions options = options_with({.horizon_steps = 99});
  options.window_half_life_steps = 1;
  TriggerFixture f({});
  f.options = options;
  f.ask_for_plan();
  CHECK(f.asked().horizon_steps == 99);
  CHECK(f.window_steps() == 1.5);
}

TEST_CASE("a dummy step is a step of the window for the trigger, as its load counts for 0") {
  TriggerFixture f({});
  f.steps(1);
  REQUIRE(f.step(StepKind::kDummy) == StepDecision::kProceed);
  f.settle();
  REQUIRE(f.environment.planner.requests.size() == 1);
  CHECK(f.window_steps() == 2);
}

TEST_CASE("without a trigger nothing is asked, and a rearrangement has no verdict") {
  BalancerFixture f;
  f.ask_for_plan();
  CHECK_FALSE(f.environment.planner.requests[0].trigger.has_value());
  f.answer(BalancerFixture::exchanged());
  finish(f);
  CHECK(f.balancer().rearrangements()[0].proposed_layers == 3);
  CHECK_FALSE(f.balancer().rearrangements()[0].verdict.has_value());
}

TEST_CASE("layers that have moved cool, layers that were declined do not, and it is reported") {
  TriggerFixture f({.hysteresis = 0, .cool_down = 1});
  f.environment.recorder.logical.row(2) << 1'000'000, 1'000'000, 1, 1;  // Balanced as it is.
  f.ask_for_plan();
  f.plan(BalancerFixture::exchanged());
  finish(f);
  const Rearrangement& first = f.balancer().rearrangements()[0];
  CHECK(first.proposed_layers == 3);
  CHECK(first.committed_layers == 2);
  REQUIRE(first.verdict.has_value());
  CHECK(first.verdict->declined_layers == 1);
  CHECK(first.verdict->gain_ns > 0);
  CHECK(f.balancer().placement().layer(LayerId{2}) ==
        Placement::initial(BalancerFixture::kShape).layer(LayerId{2}));
  f.ask_again();
  CHECK(f.asked().rearrangements_since_move == std::vector<std::int64_t>{1, 1, 0});
  f.plan(Placement::initial(BalancerFixture::kShape));
  finish(f);
  CHECK(f.balancer().rearrangements().back().verdict->cooling_layers == 2);
  f.ask_again();
  CHECK(f.asked().rearrangements_since_move == std::vector<std::int64_t>{2, 2, 0});
}

TEST_CASE("a newcomer starts with what has moved, or the settings are not the same") {
  TriggerFixture f({.hysteresis = 0, .cool_down = 2});
  f.ask_for_plan();
  f.plan(BalancerFixture::exchanged());
  finish(f);
  f.balancer().drain();
  REQUIRE(f.balancer().drained());
  const RankMapping mapping{RankId{0}, RankId{1}};
  const auto snapshot = f.balancer().snapshot_for(mapping, 3).value();
  CHECK(snapshot.trigger_memory == TriggerMemory{.recorded_steps = 2, .last_moves = {1, 1, 1}});
  const auto started_with = [&](const TriggerMemory& memory) {
    test::ScriptedEnvironment environment{RankId{2}, 3};
    Balancer::Settings settings = f.settings();
    settings.shape = snapshot.placement.shape();
    settings.topology = BalancerFixture::topology_of(3);
    Balancer::Snapshot start = snapshot;
    start.trigger_memory = memory;
    const auto joined =
        Balancer::join(settings, environment.environment(), std::move(start)).value();
    return environment.control_plane.posts.at(0).digest;
  };
  const std::uint64_t right = started_with(snapshot.trigger_memory);
  CHECK(started_with({.recorded_steps = 2, .last_moves = {1, 1, 0}}) != right);
  CHECK(started_with({.recorded_steps = 1, .last_moves = {1, 1, 1}}) != right);
  CHECK(started_with({.recorded_steps = 2, .last_moves = {1, 1, 1}}) == right);
}

TEST_CASE("a rearrangement that must come is not weighed, and its moves do not count") {
  TriggerFixture f({.price = 1e9, .cool_down = 9});
  f.shape = {.layer_count = 3, .expert_count = 4, .redundant_slot_count = 4, .rank_count = 2};
  f.options.num_redundant_experts = 4;
  f.ask_for_plan();
  f.plan(f.balancer().placement());
  f.steps(1);
  f.balancer().drain();
  REQUIRE(f.balancer().drained());
  REQUIRE(f.balancer().vacate({RankId{0}}, BalancerFixture::topology_of(1)).has_value());
  CHECK(f.step() == StepDecision::kHold);
  f.settle();
  CHECK_FALSE(f.environment.planner.requests.back().trigger.has_value());
}

TEST_CASE("a trigger without costs is refused, since it could tell nothing") {
  TriggerFixture f({});
  f.costs = {};
  const auto refused = Balancer::create(f.settings(), f.environment.environment());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  CHECK(refused.error().message.find("costs of an expert layer") != std::string::npos);
}

}  // namespace
}  // namespace eplb
