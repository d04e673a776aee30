// Goal: no pair of placements of a tiny world is planned wrongly. Method: exhaustive; an odometer
// counts through every placement of up to 3 ranks, 2 slots a rank and 3 experts, and every pair of
// them is planned, run and batched. Slots may be empty in all worlds but those of six slots, which
// would have up to 4.4 million pairs then.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core_support/migration_faults.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/layer_migration.hpp"

namespace eplb {
namespace {

using test::batches_fault;
using test::migration_fault;

/// Steps to the next row of digits in [least, most], first digit fastest; false after the last row.
bool advance(std::vector<LogicalExpertId>& digits, std::int32_t least, std::int32_t most) {
  for (LogicalExpertId& digit : digits) {
    if (digit.value < most) {
      ++digit.value;
      return true;
    }
    digit.value = least;
  }
  return false;
}

/// Every placement of a layer of `shape`, with empty slots if `some_empty`.
std::vector<LayerPlacement> all_placements(const Shape& shape, bool some_empty) {
  const std::int32_t least = some_empty ? kNoExpert.value : 0;
  std::vector<LogicalExpertId> digits(static_cast<std::size_t>(shape.slot_count()),
                                      LogicalExpertId{least});
  std::vector<LayerPlacement> placements;
  do {
    if (auto whole = LayerPlacement::create(shape, digits)) {
      placements.push_back(*std::move(whole));
    }
  } while (advance(digits, least, shape.expert_count - 1));
  return placements;
}

void check_all_pairs(const std::vector<LayerPlacement>& placements) {
  for (const LayerPlacement& before : placements) {
    for (const LayerPlacement& after : placements) {
      const LayerMigration migration = plan_layer_migration(LayerId{0}, before, after);
      const std::string fault = migration_fault(migration, before, after);
      const auto batches = schedule_batches(migration.remote, before.slots_per_rank());
      const std::string flight_fault = batches_fault(batches, migration.remote, before);
      const bool moves_nothing =
          migration.remote.empty() && migration.local.empty() && migration.duplicates.empty();
      if (!fault.empty() || !flight_fault.empty() || (before == after && !moves_nothing)) {
        CAPTURE(fault);
        CAPTURE(flight_fault);
        FAIL("a pair of placements is planned wrongly");
      }
    }
  }
}

TEST_CASE("the odometer counts every placement once") {
  const Shape shape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 3, .rank_count = 3};
  // Six slots onto three experts, all of them used: 3^6 - 3 x 2^6 + 3; with empty slots
  // 4^6 - 3 x 3^6 + 3 x 2^6 - 1.
  CHECK(all_placements(shape, false).size() == 540);
  CHECK(all_placements(shape, true).size() == 2100);
}

TEST_CASE("every pair of placements of a tiny world is planned and batched rightly") {
  for (std::int32_t ranks = 1; ranks <= 3; ++ranks) {
    for (std::int32_t slots_per_rank = 1; slots_per_rank <= 2; ++slots_per_rank) {
      const std::int32_t slots = ranks * slots_per_rank;
      for (std::int32_t experts = 1; experts <= std::min(3, slots); ++experts) {
        CAPTURE(ranks);
        CAPTURE(slots_per_rank);
        CAPTURE(experts);
        const bool some_empty = slots < 6;
        check_all_pairs(all_placements({.layer_count = 1,
                                        .expert_count = experts,
                                        .redundant_slot_count = slots - experts,
                                        .rank_count = ranks,
                                        .expert_group_count = 1},
                                       some_empty));
      }
    }
  }
}

}  // namespace
}  // namespace eplb
