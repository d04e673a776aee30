// Goal: a program outside this tree can include, link and use the core. Method: an initial
// placement and a migration plan small enough to know by heart. Ends with 0 if all is as known.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "eplb/core/migration_schedule.hpp"
#include "eplb/core/placement.hpp"

namespace {

using eplb::LogicalExpertId;
using eplb::SlotId;
using eplb::Transfer;

/// Four experts and two redundant slots on two ranks: slots 0 to 2 and 3 to 5.
constexpr eplb::Shape kShape{
    .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};

std::vector<LogicalExpertId> experts(const std::vector<std::int32_t>& values) {
  std::vector<LogicalExpertId> ids;
  ids.reserve(values.size());
  for (const std::int32_t value : values) {
    ids.push_back(LogicalExpertId{value});
  }
  return ids;
}

bool holds(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "does not hold: %s\n", what);
  }
  return condition;
}

bool placement_is_known() {
  const auto expected = eplb::LayerPlacement::create(kShape, experts({0, 1, 2, 3, 0, 1}));
  return holds(expected.has_value(), "0 1 2 | 3 0 1 is a placement") &&
         holds(eplb::LayerPlacement::initial(kShape) == *expected, "slot p holds expert p mod 4");
}

/// Experts 2 and 3 change ranks; everything else stays.
bool plan_is_known() {
  auto exchanged = eplb::LayerPlacement::create(kShape, experts({0, 1, 3, 2, 0, 1}));
  if (!holds(exchanged.has_value(), "0 1 3 | 2 0 1 is a placement")) {
    return false;
  }
  const eplb::Placement before = eplb::Placement::initial(kShape);
  const eplb::Placement after =
      eplb::Placement{before}.with_layer(eplb::LayerId{0}, *std::move(exchanged));
  const eplb::ScheduleOptions options{.landing_rows = 3, .row_bytes = {100}};
  const eplb::MigrationSchedule plan = eplb::schedule_migration(before, after, options);
  const std::vector<Transfer> expected{{LogicalExpertId{2}, SlotId{2}, SlotId{3}},
                                       {LogicalExpertId{3}, SlotId{3}, SlotId{2}}};
  return holds(plan.layers.size() == 1, "one layer changes") &&
         holds(plan.layers.front().migration.remote == expected, "experts 2 and 3 cross") &&
         holds(plan.layers.front().migration.local.empty(), "nothing moves inside a rank") &&
         holds(eplb::schedule_migration(after, after, options).layers.empty(),
               "staying moves nothing");
}

bool bad_shape_is_refused() {
  eplb::Shape odd = kShape;
  odd.redundant_slot_count = 1;
  const eplb::Result<void> checked = eplb::validate(odd);
  return holds(!checked.has_value(), "five slots do not divide over two ranks") &&
         holds(checked.error().code == eplb::ErrorCode::kInvalidArgument, "the error says so");
}

}  // namespace

int main() {
  return placement_is_known() && plan_is_known() && bad_shape_is_refused() ? 0 : 1;
}
