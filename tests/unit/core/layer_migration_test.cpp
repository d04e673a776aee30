// Goal: a plan moves each expert as section 5.1 of the semantics says. Method: layers small enough
// to plan by hand; most have one slot a rank, so that a slot's number is its rank's.
#include "eplb/core/layer_migration.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "placements.hpp"
#include "transfers.hpp"

namespace eplb {
namespace {

using test::layer_placement;
using test::transfer;
using Transfers = std::vector<Transfer>;

/// The plan of one layer whose two placements are given slot by slot.
LayerMigration plan(std::int32_t expert_count, std::int32_t rank_count,
                    const std::vector<std::int32_t>& before,
                    const std::vector<std::int32_t>& after) {
  const Shape shape{.layer_count = 1,
                    .expert_count = expert_count,
                    .redundant_slot_count = static_cast<std::int32_t>(before.size()) - expert_count,
                    .rank_count = rank_count,
                    .expert_group_count = 1};
  return plan_layer_migration(LayerId{0}, layer_placement(shape, before),
                              layer_placement(shape, after));
}

TEST_CASE("equal placements need no transfer") {
  const LayerMigration same = plan(3, 2, {0, 1, 2, -1}, {0, 1, 2, -1});
  CHECK(same == LayerMigration{.layer = LayerId{0}, .remote = {}, .local = {}, .duplicates = {}});
}

TEST_CASE("two ranks that swap experts send each other one") {
  const LayerMigration swap = plan(2, 2, {0, 1}, {1, 0});
  CHECK(swap.remote == Transfers{transfer(0, 0, 1), transfer(1, 1, 0)});
  CHECK(swap.local.empty());
  CHECK(swap.duplicates.empty());
}

TEST_CASE("with fewer receivers than senders the first senders serve one each") {
  // Expert 0: senders 0, 1, 2, 3 and receivers 4, 5: quotient 0.
  CHECK(plan(2, 7, {0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1}).remote ==
        Transfers{transfer(0, 0, 4), transfer(0, 1, 5)});
}

TEST_CASE("as many receivers as senders are served one by one") {
  CHECK(plan(2, 7, {0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1}).remote ==
        Transfers{transfer(0, 0, 3), transfer(0, 1, 4), transfer(0, 2, 5)});
}

TEST_CASE("each sender serves a run of neighbours, and those left over go to the first senders") {
  // Senders 0, 1, 2; receivers 3 to 10: quotient 2, so 3 and 4, 5 and 6, 7 and 8, then 9 and 10.
  CHECK(plan(2, 12, {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
            .remote == Transfers{transfer(0, 0, 3), transfer(0, 0, 4), transfer(0, 1, 5),
                                 transfer(0, 1, 6), transfer(0, 2, 7), transfer(0, 2, 8),
                                 transfer(0, 0, 9), transfer(0, 1, 10)});
}

TEST_CASE("one sender serves all receivers") {
  CHECK(plan(2, 4, {1, 0, 1, 1}, {0, 0, 0, 1}).remote ==
        Transfers{transfer(0, 1, 0), transfer(0, 1, 2)});
}

TEST_CASE("ranks that lose an expert still send it, and receivers that had it are none") {
  // Senders are ranks 0 and 2 of the old placement; rank 2 keeps it, rank 0 does not.
  CHECK(plan(2, 5, {0, 1, 0, 1, 1}, {1, 0, 0, 0, 0}).remote ==
        Transfers{transfer(0, 0, 1), transfer(0, 2, 3), transfer(0, 0, 4), transfer(1, 1, 0)});
}

TEST_CASE("transfers across ranks come by expert, then by receiver") {
  CHECK(plan(3, 3, {2, 1, 0}, {0, 2, 1}).remote ==
        Transfers{transfer(0, 2, 0), transfer(1, 1, 2), transfer(2, 0, 1)});
}

TEST_CASE("a sender reads its first slot of the expert") {
  // Rank 0 holds expert 0 in slots 1 and 2.
  CHECK(plan(3, 2, {1, 0, 0, 2, 2, 2}, {1, 0, 0, 2, 0, 2}).remote == Transfers{transfer(0, 1, 4)});
}

TEST_CASE("an expert that the rank held moves within it, from its first old slot") {
  // Slot 0 takes expert 0 from slot 1, though slot 2 has it too; slot 2 takes 1 from slot 0.
  const LayerMigration moved = plan(3, 2, {1, 0, 0, 2, 2, 2}, {0, 0, 1, 2, 2, 2});
  CHECK(moved.remote.empty());
  CHECK(moved.local == Transfers{transfer(0, 1, 0), transfer(1, 0, 2)});
  CHECK(moved.duplicates.empty());
}

TEST_CASE("a local move may read a slot that is itself overwritten") {
  const LayerMigration moved = plan(4, 2, {0, 1, 2, 3}, {1, 0, 2, 3});
  CHECK(moved.local == Transfers{transfer(1, 1, 0), transfer(0, 0, 1)});
}

TEST_CASE("an expert is received once a rank, in its first slot, and copied from there") {
  const LayerMigration grown = plan(3, 2, {0, 1, 1, 2, 2, 2, 2, 2}, {0, 1, 1, 2, 2, 0, 0, 0});
  CHECK(grown.remote == Transfers{transfer(0, 0, 5)});
  CHECK(grown.local.empty());
  CHECK(grown.duplicates == Transfers{transfer(0, 5, 6), transfer(0, 5, 7)});
}

TEST_CASE("each rank copies its own duplicates") {
  const LayerMigration grown = plan(2, 3, {0, 1, 1, 1, 1, 1}, {0, 1, 0, 0, 0, 0});
  CHECK(grown.remote == Transfers{transfer(0, 0, 2), transfer(0, 0, 4)});
  CHECK(grown.duplicates == Transfers{transfer(0, 2, 3), transfer(0, 4, 5)});
}

TEST_CASE("an expert that was received does not also count as held") {
  // Rank 1 held 1 and now has 0 twice and 1 once: 0 is received and copied, 1 moves locally.
  const LayerMigration mixed = plan(2, 2, {0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 1, 0});
  CHECK(mixed.remote == Transfers{transfer(0, 0, 3)});
  CHECK(mixed.local.empty());
  CHECK(mixed.duplicates == Transfers{transfer(0, 3, 5)});
}

TEST_CASE("a slot that empties needs nothing, and one that was empty receives") {
  CHECK(plan(2, 2, {0, 1, 1, 0}, {0, 1, -1, -1}) ==
        LayerMigration{.layer = LayerId{0}, .remote = {}, .local = {}, .duplicates = {}});
  // Ranks 2 and 3 are new: they held nothing, so they never send.
  const LayerMigration grown = plan(2, 4, {0, 1, 1, 0, -1, -1, -1, -1}, {0, 1, 1, 0, 0, 1, -1, 1});
  CHECK(grown.remote == Transfers{transfer(0, 0, 4), transfer(1, 1, 5), transfer(1, 2, 7)});
  CHECK(grown.local.empty());
  CHECK(grown.duplicates.empty());
}

}  // namespace
}  // namespace eplb
