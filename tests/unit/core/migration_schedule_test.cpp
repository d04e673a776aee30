// Goal: every rank derives the same way from one placement to another: landing rows that no two
// layers in flight share, batches, bytes, and a digest that tells any two apart. Method: schedules
// worked out by hand, and a recount of the rows that are in use.
#include "eplb/core/migration_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fixed_policy.hpp"
#include "placements.hpp"
#include "print_vector.hpp"
#include "transfers.hpp"

namespace eplb {
namespace {

using test::placement;
using test::placement_of;
using test::transfer;

constexpr Shape kShape{
    .layer_count = 4, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};

/// [0, 1, 2 | 3, 0, 1] to [3, 0, 1 | 0, 1, 2]: all three rows of each rank.
const std::vector<std::int32_t> kSwapped{3, 0, 1, 0, 1, 2};
/// To [0, 1, 3 | 3, 0, 2]: one row of each rank.
const std::vector<std::int32_t> kExchanged{0, 1, 3, 3, 0, 2};
const std::vector<std::int32_t> kInitial{0, 1, 2, 3, 0, 1};

ScheduleOptions options_with(std::int32_t landing_rows) {
  return {.landing_rows = landing_rows, .row_bytes = {1, 10, 100, 1000}};
}

std::vector<std::int32_t> needed(const MigrationSchedule& schedule) {
  std::vector<std::int32_t> layers;
  for (const LayerSchedule& layer : schedule.layers) {
    layers.push_back(layer.retired_layers_needed);
  }
  return layers;
}

TEST_CASE("rows are dealt in turn: what arrives first, then what moves within the rank") {
  const MigrationSchedule schedule = schedule_migration(
      Placement::initial(kShape), placement_of(kShape, kSwapped), options_with(5));
  REQUIRE(schedule.layer_count() == 4);
  // Expert 3 arrives at slot 0, expert 2 at slot 5; the rest moves within its rank.
  CHECK(schedule.layers[0].landing_row == std::vector<std::int32_t>{0, 1, 2, 1, 2, 0});
  // Rows 3 and 4, then the ring begins anew.
  CHECK(schedule.layers[1].landing_row == std::vector<std::int32_t>{3, 4, 0, 4, 0, 3});
  CHECK(schedule.remote_transfer_count() == 8);
}

TEST_CASE("a slot that is filled from a row that has landed takes no row of its own") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 2};
  // Rank 1 receives expert 0 once and copies it into two more slots.
  const MigrationSchedule schedule = schedule_migration(placement(shape, {{0, 0, 0, 1, 1, 1}}),
                                                        placement(shape, {{0, 0, 1, 0, 0, 0}}),
                                                        {.landing_rows = 3, .row_bytes = {7}});
  REQUIRE(schedule.layer_count() == 1);
  CHECK(schedule.layers[0].landing_row == std::vector<std::int32_t>{-1, -1, 0, 0, -1, -1});
  CHECK(schedule.layers[0].commit_bytes == 21);
  std::vector<RowCopy> copies;
  append_commit_copies(schedule.layers[0], RankId{1}, copies);
  const RowAddress landed{.region = kLandingRegion, .rank = RankId{1}, .row = 0};
  const auto slot = [](std::int32_t row) {
    return RowAddress{.region = weights_region(LayerId{0}), .rank = RankId{1}, .row = row};
  };
  CHECK(copies == std::vector<RowCopy>{{.source = landed, .destination = slot(0)},
                                       {.source = landed, .destination = slot(1)},
                                       {.source = landed, .destination = slot(2)}});
}

TEST_CASE("a layer waits for as many leading layers as hold the rows that it takes") {
  const auto needed_with = [](const std::vector<std::int32_t>& after, std::int32_t landing_rows) {
    return needed(schedule_migration(Placement::initial(kShape), placement_of(kShape, after),
                                     options_with(landing_rows)));
  };
  CHECK(needed_with(kSwapped, 3) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(needed_with(kSwapped, 5) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(needed_with(kSwapped, 6) == std::vector<std::int32_t>{0, 0, 1, 2});
  CHECK(needed_with(kSwapped, 12) == std::vector<std::int32_t>{0, 0, 0, 0});
  CHECK(needed_with(kExchanged, 3) == std::vector<std::int32_t>{0, 0, 0, 1});
  CHECK(needed_with(kExchanged, 4) == std::vector<std::int32_t>{0, 0, 0, 0});
}

TEST_CASE("dealing may start at any row, which changes the rows but not who waits for whom") {
  ScheduleOptions options = options_with(5);
  const Placement after = placement_of(kShape, kSwapped);
  const MigrationSchedule plain = schedule_migration(Placement::initial(kShape), after, options);
  options.first_landing_row = 4;
  const MigrationSchedule rotated = schedule_migration(Placement::initial(kShape), after, options);
  CHECK(rotated.layers[0].landing_row == std::vector<std::int32_t>{4, 0, 1, 0, 1, 4});
  CHECK(needed(rotated) == needed(plain));
  CHECK(rotated.digest != plain.digest);
}

TEST_CASE("only layers that change are scheduled, unless all are asked for") {
  const Placement before = Placement::initial(kShape);
  const Placement after = placement(kShape, {kInitial, kExchanged, kInitial, kSwapped});
  ScheduleOptions options = options_with(3);
  const MigrationSchedule changed = schedule_migration(before, after, options);
  REQUIRE(changed.layer_count() == 2);
  CHECK(changed.layers[0].migration.layer == LayerId{1});
  CHECK(changed.layers[1].migration.layer == LayerId{3});
  CHECK(changed.layers[0].target == after.layer(LayerId{1}));
  CHECK(changed.layers[0].commit_bytes == 10);
  CHECK(changed.layers[1].commit_bytes == 3000);
  options.every_layer = true;
  const MigrationSchedule all = schedule_migration(before, after, options);
  REQUIRE(all.layer_count() == 4);
  CHECK(all.layers[0].commit_bytes == 0);
  CHECK(all.layers[0].batches.empty());
  CHECK(all.remote_transfer_count() == changed.remote_transfer_count());
  CHECK(schedule_migration(before, before, options_with(3)).layers.empty());
}

TEST_CASE("transfers fly in batches, all at once, or one by one") {
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 0, .rank_count = 3};
  const Placement before = placement(shape, {{0, 1, 2}});
  const Placement after = placement(shape, {{1, 2, 0}});
  ScheduleOptions options{.landing_rows = 1, .row_bytes = {1}};
  // 0 to rank 2, 1 to rank 0, 2 to rank 1: each rank has two peers, so no two fly together.
  CHECK(schedule_migration(before, after, options).layers[0].batches ==
        std::vector<TransferBatch>{{transfer(0, 0, 2)}, {transfer(1, 1, 0)}, {transfer(2, 2, 1)}});
  options.batching = false;
  CHECK(schedule_migration(before, after, options).layers[0].batches ==
        std::vector<TransferBatch>{{transfer(0, 0, 2), transfer(1, 1, 0), transfer(2, 2, 1)}});
  options.one_row_batches = true;
  CHECK(schedule_migration(before, after, options).layers[0].batches.size() == 3);
}

TEST_CASE("a rank starts what it sends, what it receives, or both, as its transport wants") {
  const MigrationSchedule schedule = schedule_migration(
      Placement::initial(kShape), placement_of(kShape, kExchanged), options_with(3));
  const LayerSchedule& layer = schedule.layers[0];
  REQUIRE(layer.batches.size() == 1);
  const auto row = [](std::int32_t rank, std::int32_t local) {
    return RowAddress{.region = weights_region(LayerId{0}), .rank = RankId{rank}, .row = local};
  };
  const auto landing = [](std::int32_t rank) {
    return RowAddress{.region = kLandingRegion, .rank = RankId{rank}, .row = 0};
  };
  const RowCopy to_rank_1{.source = row(0, 2), .destination = landing(1)};
  const RowCopy to_rank_0{.source = row(1, 0), .destination = landing(0)};
  const auto copies_of = [&](TransferEnd end) {
    std::vector<RowCopy> copies;
    append_copies(layer, layer.batches[0], RankId{0}, end, copies);
    return copies;
  };
  CHECK(copies_of(TransferEnd::kSource) == std::vector<RowCopy>{to_rank_1});
  CHECK(copies_of(TransferEnd::kDestination) == std::vector<RowCopy>{to_rank_0});
  // By expert: 2 goes to rank 1, 3 comes to rank 0.
  CHECK(copies_of(TransferEnd::kEither) == std::vector<RowCopy>{to_rank_1, to_rank_0});
}

TEST_CASE("the digest of a schedule differs when anything does") {
  const Placement before = Placement::initial(kShape);
  const Placement after = placement(kShape, {kSwapped, kExchanged, kInitial, kInitial});
  const auto digest_with = [&](const std::function<void(ScheduleOptions&)>& change) {
    ScheduleOptions options = options_with(6);
    change(options);
    return schedule_migration(before, after, options).digest;
  };
  const std::uint64_t plain = digest_with([](ScheduleOptions&) {});
  CHECK(digest_with([](ScheduleOptions&) {}) == plain);
  CHECK(digest_with([](ScheduleOptions& options) { options.first_landing_row = 1; }) != plain);
  CHECK(digest_with([](ScheduleOptions& options) { options.landing_rows = 3; }) != plain);
  CHECK(digest_with([](ScheduleOptions& options) { options.every_layer = true; }) != plain);
  CHECK(digest_with([](ScheduleOptions& options) { options.row_bytes[1] = 11; }) != plain);
  const auto digest_to = [&](const Placement& other) {
    return schedule_migration(before, other, options_with(6)).digest;
  };
  CHECK(digest_to(placement(kShape, {kExchanged, kSwapped, kInitial, kInitial})) != plain);
  CHECK(digest_to(placement(kShape, {kInitial, kSwapped, kExchanged, kInitial})) != plain);
}

TEST_CASE("the digest tells which slot becomes empty, though nothing is transferred") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 2};
  const Placement before = placement(shape, {{0, 1, 0, 1}});
  const ScheduleOptions options{.landing_rows = 2, .row_bytes = {1}};
  CHECK(schedule_migration(before, placement(shape, {{0, 1, 0, -1}}), options).digest !=
        schedule_migration(before, placement(shape, {{0, 1, -1, 1}}), options).digest);
}

TEST_CASE("the digest tells how transfers are cut into batches") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 4};
  const Placement before = placement(shape, {{0, 1, 2, 3}});
  const Placement after = placement(shape, {{1, 0, 3, 2}});
  ScheduleOptions options{.landing_rows = 1, .row_bytes = {1}};
  const std::uint64_t together = schedule_migration(before, after, options).digest;
  options.one_row_batches = true;
  CHECK(schedule_migration(before, after, options).digest != together);
}

/// A request for a plan over two windows of one part each.
PlanRequest request_for(const Shape& shape) {
  return {
      .rearrangement = 5,
      .shape = shape,
      .topology = Topology::create({.rank_count = shape.rank_count, .ranks_per_node = 1}).value(),
      .staying = std::nullopt,
      .history = {std::make_shared<const RealLoadMatrix>(
                      RealLoadMatrix::Constant(shape.layer_count, shape.expert_count, 1)),
                  std::make_shared<const RealLoadMatrix>(
                      RealLoadMatrix::Constant(shape.layer_count, shape.expert_count, 3))},
      .window_part_count = 1,
      .current = std::make_shared<const Placement>(Placement::initial(kShape)),
      .costs = {},
      .schedule = options_with(3)};
}

TEST_CASE("a plan asks the policy with the newest window and schedules the way to its answer") {
  const test::FixedPolicy policy(placement_of(kShape, kExchanged));
  const auto planned = plan_rearrangement(request_for(kShape), policy);
  REQUIRE(planned.has_value());
  CHECK(policy.last_window() == RealLoadMatrix::Constant(4, 4, 3));
  CHECK(policy.last_history_size() == 2);
  CHECK((*planned)->digest == schedule_migration(Placement::initial(kShape),
                                                 placement_of(kShape, kExchanged), options_with(3))
                                  .digest);
}

TEST_CASE("a plan for ranks that stay leaves the others empty") {
  const Shape wide{.layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 3};
  const Shape narrow{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 2, .rank_count = 2};
  PlanRequest request = request_for(narrow);
  request.current = std::make_shared<const Placement>(Placement::initial(wide));
  request.staying = {RankId{0}, RankId{2}};
  request.schedule.row_bytes = {1};
  const auto planned =
      plan_rearrangement(request, test::FixedPolicy(placement(narrow, {{1, 0, 0, 1}})));
  REQUIRE(planned.has_value());
  CHECK((*planned)->layers.at(0).target ==
        placement(wide, {{1, 0, -1, -1, 0, 1}}).layer(LayerId{0}));
}

TEST_CASE("a policy's own error is the plan's, and a placement of another shape is none") {
  const auto refused = plan_rearrangement(
      request_for(kShape), test::FixedPolicy(fail(ErrorCode::kUnsupported, "no such topology")));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().message == "no such topology");
  Shape other = kShape;
  other.layer_count = 3;
  PlanRequest request = request_for(kShape);
  for (const bool staying : {false, true}) {
    CAPTURE(staying);
    if (staying) {
      request.staying = {RankId{0}, RankId{1}};
    }
    const auto wrong = plan_rearrangement(request, test::FixedPolicy(Placement::initial(other)));
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().code == ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace eplb
