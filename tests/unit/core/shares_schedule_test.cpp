// Goal: learnt shares take the migration's way: they are part of what all ranks agree on, commit
// with their layer whether anything moves or not, and are forgotten where their slots are. Method:
// schedules by hand, and a balancer whose publisher keeps what it is given.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "balancer_fixture.hpp"
#include "eplb/core/learnt_shares.hpp"
#include "eplb/core/migration_schedule.hpp"
#include "fixed_policy.hpp"
#include "placements.hpp"

namespace eplb {
namespace {

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};

ScheduleOptions options() {
  return {.landing_rows = 2, .row_bytes = {1, 10}};
}

std::vector<LayerShares> even_of(const Placement& placement) {
  std::vector<LayerShares> shares;
  for (const LayerPlacement& layer : placement.layers()) {
    shares.push_back(LayerShares::even(layer));
  }
  return shares;
}

/// Expert 0 is in slots 0 and 3 of every layer.
Placement initial() {
  return Placement::initial(kShape);
}

LayerShares first_has(std::uint16_t units) {
  return LayerShares::create(initial().layer(LayerId{0}),
                             {units, 65535, 65535, static_cast<std::uint16_t>(65535 - units)})
      .value();
}

TEST_CASE("a layer of which only the shares change is scheduled, and moves nothing") {
  const std::vector<LayerShares> before = even_of(initial());
  std::vector<LayerShares> after = before;
  after[1] = first_has(65535);
  const MigrationSchedule schedule =
      schedule_migration(initial(), initial(), options(), {.before = before, .after = after});
  REQUIRE(schedule.layer_count() == 1);
  const LayerSchedule& layer = schedule.layers.front();
  CHECK(layer.migration.layer == LayerId{1});
  CHECK(layer.target == initial().layer(LayerId{1}));
  CHECK(layer.shares == after[1]);
  CHECK(layer.migration.remote.empty());
  CHECK(layer.migration.local.empty());
  CHECK(layer.batches.empty());
  CHECK(layer.commit_bytes == 0);
  CHECK(schedule_migration(initial(), initial(), options(), {.before = before, .after = before})
            .layers.empty());
}

TEST_CASE("schedules that differ in a unit of a share have different digests") {
  const std::vector<LayerShares> before = even_of(initial());
  const auto digest = [&](std::uint16_t units) {
    std::vector<LayerShares> after = before;
    after[0] = first_has(units);
    return schedule_migration(initial(), initial(), options(), {.before = before, .after = after})
        .digest;
  };
  CHECK(digest(40000) == digest(40000));
  CHECK(digest(40000) != digest(40001));
}

TEST_CASE("a plan that is to bring shares learns them from the newest part") {
  RealLoadMatrix old_part(2, 3);
  old_part << 50, 60, 40, 50, 40, 60;
  RealLoadMatrix new_part(2, 3);
  new_part << 50, 40, 60, 50, 60, 40;
  PlanRequest request{.rearrangement = 1,
                      .shape = kShape,
                      .topology = Topology::create({.rank_count = 2, .ranks_per_node = 2}).value(),
                      .staying = std::nullopt,
                      .history = {std::make_shared<const RealLoadMatrix>(old_part),
                                  std::make_shared<const RealLoadMatrix>(new_part)},
                      .window_part_count = 2,
                      .current = std::make_shared<const Placement>(initial()),
                      .costs = {},
                      .schedule = options()};
  const test::FixedPolicy policy(initial());
  CHECK(plan_rearrangement(request, policy).value()->layers.empty());
  request.current_shares = std::make_shared<const std::vector<LayerShares>>(even_of(initial()));
  const auto schedule = plan_rearrangement(request, policy).value();
  REQUIRE(schedule->layer_count() == 2);
  // Stiffness 1, as learnt_shares_test has it by hand: 30 of 50 tokens on the emptier rank.
  CHECK(schedule->layers[0].shares->of(SlotId{0}) == doctest::Approx(0.6).epsilon(1e-4));
  CHECK(schedule->layers[1].shares->of(SlotId{0}) == doctest::Approx(0.4).epsilon(1e-4));
}

EplbOptions by_shares() {
  EplbOptions options = test::small_options();
  options.replica_choice = ReplicaChoice::kShares;
  return options;
}

TEST_CASE("a commit publishes the layer's shares, and the next plan starts from them") {
  test::BalancerFixture f(by_shares());
  f.ask_for_plan();
  const PlanRequest request = f.environment.planner.requests.back();
  REQUIRE(request.current_shares != nullptr);
  CHECK(*request.current_shares == even_of(*request.current));
  std::vector<LayerShares> after = *request.current_shares;
  const LayerPlacement& layer = request.current->layer(LayerId{1});
  std::vector<double> weights(static_cast<std::size_t>(layer.slot_count()), 1.0);
  weights[0] = 3;
  after[1] = LayerShares::nearest(layer, weights);
  f.environment.planner.answers.push_back(
      {.rearrangement = request.rearrangement,
       .schedule = std::make_shared<const MigrationSchedule>(
           schedule_migration(*request.current, *request.current, request.schedule,
                              {.before = *request.current_shares, .after = after}))});
  f.settle();
  for (int step = 0; step < 6; ++step) {
    f.steps(1);
    f.settle();
  }
  REQUIRE(f.environment.publisher.published.size() == 1);
  CHECK(f.environment.publisher.published[0].first == 1);
  CHECK(f.environment.publisher.maps[0] == LayerMap::from(layer, after[1]));
  CHECK(f.environment.publisher.maps[0] != LayerMap::from(layer));
}

TEST_CASE("even choices publish maps without shares and ask for none") {
  test::BalancerFixture f(test::small_options());
  f.ask_for_plan();
  CHECK(f.environment.planner.requests.back().current_shares == nullptr);
  f.answer(test::BalancerFixture::exchanged());
  f.steps(3);
  REQUIRE_FALSE(f.environment.publisher.maps.empty());
  CHECK_FALSE(f.environment.publisher.maps[0].has_shares());
}

}  // namespace
}  // namespace eplb
