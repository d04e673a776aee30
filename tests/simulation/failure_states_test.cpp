// Goal: what fails on one rank ends alike on all of them: the same reason in the same step, and
// then what on_failure says. Method: rank 2 of four fails in one state after another, by a refusal
// or a deadline that fires there only; healed, the group rearranges again.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "function_policy.hpp"
#include "print_vector.hpp"
#include "served_group.hpp"

namespace eplb {
namespace {

using test::ServedGroup;

constexpr Shape kShape{
    .layer_count = 3, .expert_count = 8, .redundant_slot_count = 0, .rank_count = 4};
constexpr RankId kCulprit{2};

struct FailingState {
  std::string name;
  Failure reason;
  std::function<void(ServedGroup&)> spoil;
  std::function<void(ServedGroup&)> heal;
};

void fail_transfers(ServedGroup& served, LayerId layer) {
  served.timing().transfer_fails = [layer](const RowCopy& copy) {
    return copy.source.rank == kCulprit && copy.source.region == weights_region(layer);
  };
}

std::vector<FailingState> failing_states() {
  return {
      {.name = "aggregating",
       .reason = {.cause = FailureCause::kDeadline,
                  .rank = kCulprit,
                  .state = MigrationState::kAggregating},
       .spoil =
           [](ServedGroup& served) {
             served.fires = [&served](RankId rank, env::FaultPoint point) {
               return rank == kCulprit && point == env::FaultPoint::kShortDeadline &&
                      served.balancer(rank.value).state() == MigrationState::kAggregating;
             };
           },
       .heal = [](ServedGroup& served) { served.fires = nullptr; }},
      {.name = "planning",
       .reason = {.cause = FailureCause::kPlanFailed,
                  .rank = kCulprit,
                  .state = MigrationState::kPlanning},
       .spoil =
           [](ServedGroup& served) {
             served.group().rank(kCulprit).planner().inspect(
                 [](const PlanRequest& /*request*/, sim::SimPlanDesk::Answer& answer) {
                   answer = fail(ErrorCode::kInternal, "refused");
                 });
           },
       .heal = [](ServedGroup& served) { served.group().rank(kCulprit).planner().inspect({}); }},
      {.name = "sending",
       .reason = {.cause = FailureCause::kTransferFailed,
                  .rank = kCulprit,
                  .state = MigrationState::kMoving,
                  .layer = LayerId{0}},
       .spoil = [](ServedGroup& served) { fail_transfers(served, LayerId{0}); },
       .heal = [](ServedGroup& served) { served.timing().transfer_fails = nullptr; }},
      {.name = "landed",
       .reason = {.cause = FailureCause::kTransferFailed,
                  .rank = kCulprit,
                  .state = MigrationState::kMoving,
                  .layer = LayerId{1}},
       .spoil = [](ServedGroup& served) { fail_transfers(served, LayerId{1}); },
       .heal = [](ServedGroup& served) { served.timing().transfer_fails = nullptr; }},
  };
}

Balancer::Settings settings_with(OnFailure on_failure) {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 40;
  options.landing_rows = 3 * kShape.slots_per_rank();  // All layers at once.
  options.on_failure = on_failure;
  return test::settings_of(kShape, options);
}

/// The step in which every rank decided to abort, for the same cause; fails the test otherwise.
std::int64_t common_abort_step(const ServedGroup& served, FailureCause cause) {
  const auto first = served.records(0, env::TraceEvent::kAborting);
  REQUIRE(first.size() == 1);
  for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
    const auto aborting = served.records(rank, env::TraceEvent::kAborting);
    REQUIRE(aborting.size() == 1);
    CHECK(aborting[0].step == first[0].step);
    CHECK(aborting[0].record.value == static_cast<std::int64_t>(cause));
  }
  return first[0].step;
}

TEST_CASE("a failure in each state aborts on all ranks in one step, and the group serves on") {
  for (const FailingState& state : failing_states()) {
    CAPTURE(state.name);
    const auto policy = test::rotating_policy();
    ServedGroup served({.settings = settings_with(OnFailure::kKeepServing)}, policy);
    state.spoil(served);
    REQUIRE(served.rearrange_until(1, 60));
    state.heal(served);
    // Triggered after 10 forwards, posted in the next step, decided two steps later.
    CHECK(common_abort_step(served, state.reason.cause) == 10 + 1 + 2);
    for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
      const Rearrangement& aborted = served.balancer(rank).rearrangements()[0];
      CHECK(aborted.abort == state.reason);
      CHECK(aborted.committed_layers == 0);
      CHECK(served.balancer(rank).placement() == Placement::initial(kShape));
    }
    REQUIRE(served.rearrange_until(2, 60));
    CHECK_FALSE(served.balancer(1).rearrangements()[1].abort);
    CHECK(served.balancer(1).placement() == test::rotated(Placement::initial(kShape)));
    served.serve_until(served.steps() + 2);
    CHECK(served.faults() == std::vector<std::string>{});
    CHECK(served.stopped_ranks().empty());
  }
}

TEST_CASE("a failure in each state raises the same error on all ranks in one step") {
  for (const FailingState& state : failing_states()) {
    CAPTURE(state.name);
    const auto policy = test::rotating_policy();
    ServedGroup served({.settings = settings_with(OnFailure::kRaise)}, policy);
    state.spoil(served);
    served.serve_until(60);
    CHECK(common_abort_step(served, state.reason.cause) == 13);
    CHECK(served.steps() == 13);  // No further forward.
    REQUIRE(served.stopped_ranks().size() == 4);
    for (const auto& [rank, reason] : served.stopped_ranks()) {
      CHECK(reason == state.reason);
      CHECK(served.last_step(rank, env::TraceEvent::kStep) == 13);
    }
  }
}

TEST_CASE("layers that have landed on the rank that fails are not committed either") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = settings_with(OnFailure::kKeepServing)}, policy);
  fail_transfers(served, LayerId{1});
  REQUIRE(served.rearrange_until(1, 60));
  REQUIRE(served.records(kCulprit.value, env::TraceEvent::kLayerLanded).size() == 1);
  CHECK(served.records(kCulprit.value, env::TraceEvent::kLayerLanded)[0].record.subject == 0);
  CHECK(served.balancer(0).committed_layer_count() == 0);
}

TEST_CASE("plans that differ name the first rank whose plan is another") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = settings_with(OnFailure::kKeepServing)}, policy);
  served.group().rank(kCulprit).planner().inspect(
      [](const PlanRequest& /*request*/, sim::SimPlanDesk::Answer& answer) {
        auto other = std::make_shared<MigrationSchedule>(**answer);
        ++other->digest;
        answer = std::shared_ptr<const MigrationSchedule>(std::move(other));
      });
  REQUIRE(served.rearrange_until(1, 60));
  CHECK(common_abort_step(served, FailureCause::kPlansDiffer) == 13);
  CHECK(served.balancer(3).rearrangements()[0].abort.rank == kCulprit);
  CHECK(served.faults() == std::vector<std::string>{});
}

TEST_CASE("a failed commit ends the group for one reason, and no forward ends any more") {
  for (const OnFailure on_failure : {OnFailure::kKeepServing, OnFailure::kRaise}) {
    const auto policy = test::rotating_policy();
    ServedGroup served({.settings = settings_with(on_failure)}, policy);
    served.timing().local_copy_fails = [](const RowCopy& copy) {
      return copy.source.region == kLandingRegion && copy.destination.rank == kCulprit;
    };
    served.serve_until(60);
    REQUIRE(served.stopped_ranks().size() == 4);
    for (const auto& [rank, reason] : served.stopped_ranks()) {
      CHECK(reason.cause == FailureCause::kCopyFailed);
      CHECK(reason.rank == kCulprit);
      CHECK(reason.layer == LayerId{0});
      CHECK(served.last_step(rank, env::TraceEvent::kCommit) == served.steps());
    }
  }
}

TEST_CASE("a lost rank ends the group for one reason, and no forward ends any more") {
  for (const std::int64_t steps : {3, 11}) {  // Idle, and while rows move.
    const auto policy = test::rotating_policy();
    ServedGroup served({.settings = settings_with(OnFailure::kKeepServing)}, policy);
    served.serve_until(steps);
    served.group().rank(kCulprit).lose();
    served.serve_until(60);
    CHECK(served.steps() == steps);
    REQUIRE(served.stopped_ranks().size() == 3);
    for (const auto& [rank, reason] : served.stopped_ranks()) {
      CHECK(reason.cause == FailureCause::kRankLost);
      CHECK(reason.rank == kCulprit);
    }
  }
}

TEST_CASE("the rank whose plan is not the others' is named, be it the first") {
  for (const std::int32_t culprit : {0, 2}) {
    CAPTURE(culprit);
    const auto policy = test::rotating_policy();
    ServedGroup served({.settings = settings_with(OnFailure::kKeepServing)}, policy);
    served.group()
        .rank(RankId{culprit})
        .planner()
        .inspect([](const PlanRequest& /*request*/, sim::SimPlanDesk::Answer& answer) {
          auto other = std::make_shared<MigrationSchedule>(**answer);
          ++other->digest;
          answer = std::shared_ptr<const MigrationSchedule>(std::move(other));
        });
    REQUIRE(served.rearrange_until(1, 60));
    for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
      CHECK(served.balancer(rank).rearrangements()[0].abort ==
            Failure{.cause = FailureCause::kPlansDiffer,
                    .rank = RankId{culprit},
                    .state = MigrationState::kMoving});
    }
  }
}

}  // namespace
}  // namespace eplb
