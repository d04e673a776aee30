// Goal: no tiny world is placed wrongly or bounded wrongly. Method: exhaustive; an odometer counts
// through every world of up to 3 ranks, 2 slots a rank and 3 experts with loads 0 to 2, and every
// placement of it; bounds and replica counts are held against brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "eplb/placement/bounds.hpp"
#include "placement_oracle.hpp"
#include "plan.hpp"

namespace eplb::test {
namespace {

/// Every legal shape of one layer in the tiny world, without groups.
std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes;
  for (std::int32_t ranks = 1; ranks <= 3; ++ranks) {
    for (std::int32_t slots = ranks; slots <= 2 * ranks; slots += ranks) {
      for (std::int32_t experts = 1; experts <= std::min(slots, 3); ++experts) {
        shapes.push_back({.layer_count = 1,
                          .expert_count = experts,
                          .redundant_slot_count = slots - experts,
                          .rank_count = ranks});
      }
    }
  }
  return shapes;
}

void for_each_load(std::int32_t expert_count,
                   const std::function<void(const std::vector<double>&)>& visit) {
  std::vector<std::int32_t> digits(static_cast<std::size_t>(expert_count), 0);
  do {
    visit({digits.begin(), digits.end()});
  } while (advance(digits, 0, 2));
}

std::vector<LayerPlacement> all_placements(const Shape& shape) {
  std::vector<LayerPlacement> placements;
  std::vector<std::int32_t> digits(static_cast<std::size_t>(shape.slot_count()), 0);
  do {
    if (auto placement = LayerPlacement::create(shape, occupants_of(digits))) {
      placements.push_back(*placement);
    }
  } while (advance(digits, 0, shape.expert_count - 1));
  return placements;
}

/// A plan for every tiny world, group count, node count and policy.
void for_each_plan(
    const std::function<void(const std::vector<double>& load, std::string_view policy,
                             const Placement& placed)>& visit) {
  for (const Shape& plain : all_shapes()) {
    for_each_load(plain.expert_count, [&](const std::vector<double>& load) {
      for (const std::string_view policy : placement::policy_names()) {
        for (std::int32_t groups = 1; groups <= plain.expert_count; ++groups) {
          for (std::int32_t nodes = 1; nodes <= plain.rank_count; ++nodes) {
            Shape shape = plain;
            shape.expert_group_count = groups;
            if (validate(shape).has_value()) {
              visit(load, policy,
                    plan({.policy = policy, .shape = shape, .node_count = nodes}, load_of({load})));
            }
          }
        }
      }
    });
  }
}

TEST_CASE("every plan of a tiny world fills each slot and places each expert") {
  for_each_plan([](const auto& load, std::string_view policy, const Placement& placed) {
    CAPTURE(policy);
    const Shape& shape = placed.shape();
    const std::vector<std::int32_t> occupants = numbers_of(placed.layers()[0].occupants());
    REQUIRE(occupants.size() == static_cast<std::size_t>(shape.slot_count()));
    for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
      REQUIRE(std::ranges::count(occupants, expert) >= 1);
    }
    REQUIRE(std::ranges::all_of(occupants, [&](std::int32_t expert) {
      return 0 <= expert && expert < static_cast<std::int32_t>(load.size());
    }));
  });
}

TEST_CASE("the greedy policies give the best replica counts there are, where groups do not bind") {
  for_each_plan([](const auto& load, std::string_view policy, const Placement& placed) {
    const bool is_greedy = policy == "deepseek" || policy == "default" || policy == "trtllm";
    if (!is_greedy || placed.shape().expert_group_count > 1) {
      return;
    }
    CAPTURE(policy);
    const std::vector<std::int32_t> copies = placed.layers()[0].replica_counts();
    double largest = 0;
    for (std::size_t expert = 0; expert < load.size(); ++expert) {
      largest = std::max(largest, load[expert] / copies[expert]);
    }
    REQUIRE(largest == least_largest_replica(load, placed.shape().slot_count()));
  });
}

TEST_CASE("no placement of a tiny world beats the bound, and the free split is exact") {
  for (const Shape& shape : all_shapes()) {
    const std::vector<LayerPlacement> placements = all_placements(shape);
    for_each_load(shape.expert_count, [&](const std::vector<double>& load) {
      CAPTURE(load);
      const RealLoadMatrix matrix = load_of({load});
      const auto bound = placement::layer_bound(matrix.row(0), shape).value();
      REQUIRE(bound.least_largest_replica == least_largest_replica(load, shape.slot_count()));
      for (const LayerPlacement& layer : placements) {
        const double split = placement::layer_bound_split(matrix.row(0), layer).value();
        const double even =
            largest_rank_loads(Placement::create(shape, {layer}).value(), matrix).front();
        REQUIRE(split == best_split(load, layer));
        REQUIRE(bound.value() <= split);
        REQUIRE(split <= even + 1e-12);
      }
    });
  }
}

}  // namespace
}  // namespace eplb::test
