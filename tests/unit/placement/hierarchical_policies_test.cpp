// Goal: `deepseek` and `default` follow the published steps, with their fallbacks, ties and number
// types. Method: DeepSeek's published example, and small loads whose placement is worked out by
// hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace eplb::test {
namespace {

using Numbers = std::vector<std::int32_t>;

constexpr std::array<std::string_view, 2> kPolicies{"deepseek", "default"};

/// DeepSeek's published example: two layers of twelve experts.
RealLoadMatrix published_load() {
  return load_of({{90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
                  {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27}});
}

Shape published_shape(std::int32_t group_count) {
  return {.layer_count = 2,
          .expert_count = 12,
          .redundant_slot_count = 4,
          .rank_count = 8,
          .expert_group_count = group_count};
}

/// One layer without groups, its occupants as numbers.
Numbers plan_layer(std::string_view policy, const std::vector<double>& load,
                   std::int32_t redundant_slot_count, std::int32_t rank_count) {
  const Placement placed = plan({.policy = policy,
                                 .shape = {.layer_count = 1,
                                           .expert_count = static_cast<std::int32_t>(load.size()),
                                           .redundant_slot_count = redundant_slot_count,
                                           .rank_count = rank_count}},
                                load_of({load}));
  return numbers_of(placed.layers()[0].occupants());
}

TEST_CASE("the published example is placed as published, hierarchically") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    const Placement placed =
        plan({.policy = policy, .shape = published_shape(4), .node_count = 2}, published_load());
    CHECK(numbers_of(placed.layers()[0].occupants()) ==
          Numbers{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1});
    CHECK(numbers_of(placed.layers()[1].occupants()) ==
          Numbers{7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1});
    CHECK(placed.layers()[0].replica_counts() == Numbers{1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1});
    CHECK(placed.layers()[1].replica_counts() == Numbers{1, 2, 1, 1, 1, 2, 2, 1, 2, 1, 1, 1});
    CHECK(duplicate_count(placed) == 0);
  }
}

TEST_CASE("the published example, placed globally, wastes a slot of each layer on a second copy") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    const Placement placed =
        plan({.policy = policy, .shape = published_shape(1)}, published_load());
    CHECK(numbers_of(placed.layers()[0].occupants()) ==
          Numbers{10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1});
    CHECK(numbers_of(placed.layers()[1].occupants()) ==
          Numbers{1, 10, 2, 4, 5, 11, 5, 0, 6, 7, 6, 3, 8, 8, 9, 7});
    CHECK(duplicate_count(placed) == 2);
  }
}

TEST_CASE("groups that nodes do not divide are placed globally") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan({.policy = policy, .shape = published_shape(3), .node_count = 2}, published_load())
              .layers()[0] ==
          plan({.policy = policy, .shape = published_shape(1)}, published_load()).layers()[0]);
  }
}

TEST_CASE("nodes that do not divide the ranks count as one node") {
  // Three nodes of three ranks would divide six groups, were the last node not one rank short.
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan({.policy = policy, .shape = published_shape(6), .node_count = 3}, published_load())
              .layers()[1] ==
          plan({.policy = policy, .shape = published_shape(6)}, published_load()).layers()[1]);
  }
}

TEST_CASE("an expert group stays whole on one node") {
  // Group loads 10, 7, 2, 1: the nodes get groups {0, 3} and {1, 2}; a global placement would put
  // expert 0 (9 tokens) with the lightest experts instead.
  const Placement placed = plan({.policy = "default",
                                 .shape = {.layer_count = 1,
                                           .expert_count = 8,
                                           .redundant_slot_count = 0,
                                           .rank_count = 4,
                                           .expert_group_count = 4},
                                 .node_count = 2},
                                load_of({{9, 1, 4, 3, 1, 1, 1, 0}}));
  CHECK(numbers_of(placed.layers()[0].occupants()) == Numbers{0, 7, 1, 6, 2, 5, 3, 4});
}

TEST_CASE("deepseek sums in float32 and default in double") {
  // 2^24 + 1 is 2^24 in float32, so that deepseek sees two equal ranks where default sees one that
  // has a token more.
  const std::vector<double> load{16777216, 16777216, 1, 1, 1, 1};
  CHECK(plan_layer("deepseek", load, 0, 2) == Numbers{0, 2, 3, 1, 4, 5});
  CHECK(plan_layer("default", load, 0, 2) == Numbers{0, 2, 4, 1, 3, 5});
}

TEST_CASE("both cast a load to float32 before they compare it") {
  // 2^24 + 1 becomes 2^24, a tie, which the lower expert wins.
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan_layer(policy, {16777216, 16777217, 0, 0}, 0, 2) == Numbers{0, 2, 1, 3});
  }
}

TEST_CASE("a load beyond float32 is placed as its largest number") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan_layer(policy, {1, 1e300, 2, 1e200}, 2, 3) == Numbers{1, 3, 3, 2, 1, 0});
  }
}

TEST_CASE("one slot a rank keeps the order of copies, unsorted") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan_layer(policy, {1, 5, 9}, 2, 5) == Numbers{0, 1, 2, 2, 1});
  }
}

TEST_CASE("one rank holds all copies, largest first") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan_layer(policy, {1, 6, 4}, 1, 1) == Numbers{2, 1, 1, 0});
  }
}

TEST_CASE("equal loads tie to the lowest expert, copy and rank") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    CHECK(plan_layer(policy, {3, 3, 3, 3}, 0, 2) == Numbers{0, 2, 1, 3});
    // The further copies are of experts 0 and 1. Whole loads come first, 2 and 3; then the halves
    // 0, 1 fill the third rank, and the further halves 0, 1 the first two.
    CHECK(plan_layer(policy, {3, 3, 3, 3}, 2, 3) == Numbers{2, 0, 3, 1, 0, 1});
  }
}

TEST_CASE("without load all spare copies are of expert 0 and the placement is valid") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    Numbers placed = plan_layer(policy, {0, 0, 0, 0}, 2, 2);
    std::ranges::sort(placed);
    CHECK(placed == Numbers{0, 0, 0, 1, 2, 3});
  }
}

TEST_CASE("a hot expert gets all spare copies while its share is the largest") {
  for (const std::string_view policy : kPolicies) {
    CAPTURE(policy);
    Numbers placed = plan_layer(policy, {1000, 10, 10, 10, 10, 10, 10, 10}, 4, 4);
    std::ranges::sort(placed);
    CHECK(placed == Numbers{0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("default keeps an expert that stays on its rank in its slot, deepseek does not") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 2};
  const RealLoadMatrix load = load_of({{4, 3, 2, 1}});
  const Placement current =
      Placement::create(shape,
                        {LayerPlacement::create(shape, occupants_of(Numbers{3, 1, 2, 0})).value()})
          .value();
  // Both choose the ranks {0, 3} and {1, 2}.
  const Placement kept = plan({.policy = "default", .shape = shape, .current = &current}, load);
  CHECK(numbers_of(kept.layers()[0].occupants()) == Numbers{3, 0, 2, 1});
  const Placement moved = plan({.policy = "deepseek", .shape = shape, .current = &current}, load);
  CHECK(numbers_of(moved.layers()[0].occupants()) == Numbers{0, 3, 1, 2});
}

}  // namespace
}  // namespace eplb::test
