// Goal: an expert that stays on its rank keeps its slot, and nothing else changes.
// Method: small ranks worked out by hand: plain, with duplicates, skewed, with empty slots.
#include "eplb/placement/slot_preservation.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "plan.hpp"

namespace eplb::placement {
namespace {

using Numbers = std::vector<std::int32_t>;

Numbers preserved(const Numbers& current, const Numbers& wanted, std::int32_t slots_per_rank) {
  return test::numbers_of(
      preserve_slots(test::occupants_of(current), test::occupants_of(wanted), slots_per_rank));
}

TEST_CASE("experts that stay on their rank keep their slots") {
  CHECK(preserved({0, 1, 2, 3}, {1, 0, 3, 2}, 2) == Numbers{0, 1, 2, 3});
}

TEST_CASE("newcomers fill the open slots of their rank, both ascending") {
  CHECK(preserved({0, 1, 2, 3, 4, 5, 6, 7}, {8, 2, 9, 0, 4, 5, 10, 11}, 4) ==
        Numbers{0, 8, 2, 9, 4, 5, 10, 11});
}

TEST_CASE("an expert that changes its rank is a newcomer there") {
  CHECK(preserved({0, 1, 2, 3}, {2, 1, 0, 3}, 2) == Numbers{2, 1, 0, 3});
}

TEST_CASE("a duplicate keeps as many of its slots as it has copies left") {
  CHECK(preserved({1, 1, 2}, {1, 3, 1}, 3) == Numbers{1, 1, 3});
  CHECK(preserved({1, 1, 2}, {2, 1, 3}, 3) == Numbers{1, 3, 2});
  CHECK(preserved({2, 1, 3}, {1, 1, 2}, 3) == Numbers{2, 1, 1});
}

TEST_CASE("a rank that one expert fills keeps what was there of it") {
  CHECK(preserved({5, 0, 5, 1, 2, 3}, {0, 0, 0, 3, 0, 2}, 3) == Numbers{0, 0, 0, 0, 2, 3});
}

TEST_CASE("a slot that was empty and becomes empty counts as kept") {
  CHECK(preserved({-1, 0, 1, -1}, {0, -1, 1, 2}, 2) == Numbers{-1, 0, 1, 2});
}

TEST_CASE("placements of another width have no slot in common") {
  CHECK(preserved({0, 1, 2, 3}, {1, 0}, 2) == Numbers{1, 0});
  CHECK(preserved({0, 1, 2}, {2, 1, 0}, 2) == Numbers{2, 1, 0});
  CHECK(preserved({0, 1}, {1, 0}, 0) == Numbers{1, 0});
}

}  // namespace
}  // namespace eplb::placement
