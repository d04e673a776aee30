// Goal: policies are found by name, and a wrong name is answered with the right ones.
// Method: every listed name, and one that is not.
#include "eplb/placement/registry.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "plan.hpp"

namespace eplb::placement {
namespace {

TEST_CASE("the policies are listed by name, ascending") {
  const auto names = policy_names();
  CHECK(std::vector<std::string_view>(names.begin(), names.end()) ==
        std::vector<std::string_view>{"deepseek", "default", "flash", "frugal", "linear",
                                      "local_first", "robust", "snake", "static", "swift",
                                      "trtllm"});
}

TEST_CASE("peers' ideas are for research, and what a deployment may serve with is not") {
  std::vector<std::string_view> research;
  for (const std::string_view name : policy_names()) {
    if (is_for_research(name)) {
      research.push_back(name);
    }
  }
  CHECK(research ==
        std::vector<std::string_view>{"flash", "local_first", "snake", "static", "swift"});
  CHECK(!is_for_research("no such policy"));
}

TEST_CASE("a policy made by name bears that name") {
  for (const std::string_view name : policy_names()) {
    const auto policy = make_policy(name);
    REQUIRE(policy.has_value());
    CHECK((*policy)->name() == name);
  }
}

TEST_CASE("an unknown policy is refused with the names that there are") {
  const auto policy = make_policy("greedy");
  REQUIRE(!policy.has_value());
  CHECK(policy.error().code == ErrorCode::kInvalidArgument);
  CHECK(policy.error().message ==
        "unknown policy 'greedy', allowed are deepseek, default, flash, frugal, linear, "
        "local_first, robust, snake, static, swift, trtllm");
}

TEST_CASE("linear repeats the experts in order, whatever the load") {
  const Placement placed = test::plan(
      {.policy = "linear",
       .shape = {.layer_count = 2, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 3}},
      test::load_of({{0, 0, 0, 9}, {1, 2, 3, 4}}));
  const std::vector<std::int32_t> expected{0, 1, 2, 3, 0, 1};
  CHECK(test::numbers_of(placed.layers()[0].occupants()) == expected);
  CHECK(test::numbers_of(placed.layers()[1].occupants()) == expected);
}

}  // namespace
}  // namespace eplb::placement
