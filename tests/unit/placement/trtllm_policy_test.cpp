// Goal: `trtllm` gives the published replica counts and packs largest first.
// Method: the published vectors of counts; placements worked out by hand.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "plan.hpp"

namespace eplb::test {
namespace {

using Numbers = std::vector<std::int32_t>;

LayerPlacement plan_layer(const std::vector<double>& load, std::int32_t slot_count,
                          std::int32_t rank_count) {
  const auto expert_count = static_cast<std::int32_t>(load.size());
  return plan({.policy = "trtllm",
               .shape = {.layer_count = 1,
                         .expert_count = expert_count,
                         .redundant_slot_count = slot_count - expert_count,
                         .rank_count = rank_count}},
              load_of({load}))
      .layers()[0];
}

TEST_CASE("trtllm gives the published replica counts") {
  CHECK(plan_layer({0, 0, 0, 0}, 6, 2).replica_counts() == Numbers{2, 2, 1, 1});
  CHECK(plan_layer({1, 4, 2, 1}, 8, 2).replica_counts() == Numbers{1, 4, 2, 1});
  CHECK(plan_layer({10, 5, 2, 15, 8}, 9, 3).replica_counts() == Numbers{2, 1, 1, 3, 2});
  CHECK(plan_layer({0, 10, 0}, 4, 2).replica_counts() == Numbers{1, 2, 1});
  CHECK(plan_layer({1, 2, 3, 4}, 4, 2).replica_counts() == Numbers{1, 1, 1, 1});
}

TEST_CASE("trtllm gives a tied copy to the highest expert") {
  CHECK(plan_layer({6, 6, 6}, 4, 2).replica_counts() == Numbers{1, 1, 2});
}

TEST_CASE("trtllm places the largest copy first, on the least loaded rank, ties to the lowest") {
  // Expert 3 has two copies of 4. In order: 1 to rank 0 (7), 0 to rank 1 (6), 3 to rank 2 (4), 3 to
  // rank 2 (8, full), 2 to rank 1 (7, full), 4 to rank 0.
  CHECK(numbers_of(plan_layer({6, 7, 1, 8, 0}, 6, 3).occupants()) == Numbers{1, 4, 0, 2, 3, 3});
}

TEST_CASE("trtllm sorts even where a rank has one slot") {
  CHECK(numbers_of(plan_layer({1, 5, 9}, 3, 3).occupants()) == Numbers{2, 1, 0});
}

TEST_CASE("trtllm does not cast a load to float32") {
  CHECK(numbers_of(plan_layer({16777216, 16777217, 0, 0}, 4, 2).occupants()) ==
        Numbers{1, 3, 0, 2});
}

TEST_CASE("trtllm without load fills ranks in order") {
  CHECK(numbers_of(plan_layer({0, 0, 0, 0}, 6, 2).occupants()) == Numbers{0, 0, 1, 1, 2, 3});
}

TEST_CASE("trtllm places loads whose sum exceeds all numbers") {
  CHECK(numbers_of(plan_layer({1.5e308, 1.5e308, 1.5e308, 1.5e308}, 4, 1).occupants()) ==
        Numbers{0, 1, 2, 3});
  CHECK(numbers_of(plan_layer({1.5e308, 1.5e308, 1.5e308, 1.5e308, 1, 1}, 6, 2).occupants()) ==
        Numbers{0, 2, 4, 1, 3, 5});
}

}  // namespace
}  // namespace eplb::test
