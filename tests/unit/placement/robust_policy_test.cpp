// Goal: the policies robust and frugal find the step that is known to be right, weigh it against
// its price, hedge against change they have seen, and are never wasteful.
// Method: layers small enough to be worked by hand, extreme ones whose bound is known, and seeded
// random worlds for what must always hold.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/rank_load.hpp"
#include "plan.hpp"

namespace eplb::test {
namespace {

using Numbers = std::vector<std::int32_t>;

Placement placement_of(const Shape& shape, const Numbers& occupants) {
  return Placement::create(shape, {LayerPlacement::create(shape, occupants_of(occupants)).value()})
      .value();
}

Numbers planned(std::string_view policy, const Placement& current, const RealLoadMatrix& load) {
  return numbers_of(plan({.policy = policy, .shape = current.shape(), .current = &current}, load)
                        .layers()[0]
                        .occupants());
}

Numbers planned_on(std::string_view policy, const Placement& current,
                   const std::vector<RealLoadMatrix>& history) {
  const std::int32_t ranks = current.shape().rank_count;
  const Topology topology =
      Topology::create({.rank_count = ranks, .ranks_per_node = ranks}).value();
  const PolicyProblem problem{.shape = current.shape(),
                              .topology = topology,
                              .history = history,
                              .window_part_count = 1,
                              .current = &current,
                              .costs = {}};
  return numbers_of(
      placement::make_policy(policy).value()->place(problem).value().layers()[0].occupants());
}

/// Largest rank load over the mean, even split.
double imbalance_of(const Placement& placement, const RealLoadMatrix& load) {
  ReplicaShares shares = ReplicaShares::even();
  const RealLoadMatrix ranks = rank_loads(placement, load, shares);
  return ranks.row(0).maxCoeff() / ranks.row(0).mean();
}

constexpr Shape kTwoRanks{.layer_count = 1, .expert_count = 6, .rank_count = 2};

/// Not what a loader fills, where rows are cheaper.
const Numbers kPlanned{1, 0, 2, 3, 4, 5};

TEST_CASE("robust makes the one swap that levels two ranks") {
  // Rank 0 has 9 + 4 + 1, rank 1 has 5 + 1/2 + 1/2: exchanging 9 for 5 gives 10 each, and no other
  // two experts differ by 4.
  const Placement current = placement_of(kTwoRanks, {0, 1, 2, 3, 4, 5});
  CHECK(planned("robust", current, load_of({{9, 4, 1, 5, 0.5, 0.5}})) == Numbers{3, 1, 2, 0, 4, 5});
}

TEST_CASE("a price above the gain forbids the swap") {
  const Placement current = placement_of(kTwoRanks, kPlanned);
  const RealLoadMatrix load = load_of({{9, 4, 1, 5, 0.5, 0.5}});
  // The busiest rank falls from 14 to 10, by a factor of 1.4, for two rows of six, two thirds of a
  // rank's: a price of 1.5 for all slots is above that, one of 0.9 is not.
  CHECK(planned("robust:price=0.015", current, load) == kPlanned);
  CHECK(planned("robust:price=0.009", current, load) == Numbers{1, 3, 2, 0, 4, 5});
  CHECK(planned("robust:rank_price=0.75", current, load) == kPlanned);
}

TEST_CASE("on the placement that a loader fills a row costs a tenth") {
  // As above: a price of 1.5 for all slots is 0.15 there, and one of 15 is above the gain again.
  const Placement current = placement_of(kTwoRanks, {0, 1, 2, 3, 4, 5});
  const RealLoadMatrix load = load_of({{9, 4, 1, 5, 0.5, 0.5}});
  CHECK(planned("robust:price=0.015", current, load) == Numbers{3, 1, 2, 0, 4, 5});
  CHECK(planned("robust:price=0.15", current, load) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("where the load only visits, rows are dearer") {
  // The newest part is the load above in both histories; a swap for 20 % of all slots' price gains
  // 40 %. In one the load has come to stay, in the other it has come and gone seven times.
  const Placement current = placement_of(kTwoRanks, kPlanned);
  const RealLoadMatrix level = load_of({{4, 5, 1, 9, 0.5, 0.5}});
  const RealLoadMatrix skewed = load_of({{9, 4, 1, 5, 0.5, 0.5}});
  std::vector<RealLoadMatrix> stays(8, level);
  stays.resize(16, skewed);
  std::vector<RealLoadMatrix> visits;
  visits.reserve(16);
  for (int part = 0; part < 16; ++part) {
    visits.push_back(part % 2 == 0 ? level : skewed);
  }
  const auto swaps = [&](const std::vector<RealLoadMatrix>& history) {
    return planned_on("robust:directions=0,price=0.007", current, history) != kPlanned;
  };
  CHECK(swaps(stays));
  CHECK(!swaps(visits));
}

TEST_CASE("frugal leaves a gain alone that robust takes") {
  // 10.15 and 9.85 are levelled by exchanging two experts that differ by 0.15. Two of six rows are
  // 33 % of the slots and two thirds of a rank's: 1.2 % at frugal's prices, about what there is to
  // gain at most, and more than the smooth maximum gains.
  const Placement current = placement_of(kTwoRanks, kPlanned);
  const RealLoadMatrix load = load_of({{3, 5.15, 2, 5, 2.85, 2}});
  CHECK(planned("frugal", current, load) == kPlanned);
  CHECK(planned("frugal:price=0", current, load) != kPlanned);
  CHECK(planned("robust", current, load) != kPlanned);
}

TEST_CASE("a second search at a part of the price sees what no single step is worth") {
  // Ranks of 10, 10, 6 and 6: two swaps of 4 for 2 make all 8. The first one alone leaves a rank of
  // 10 and gains 1.1 % by the smooth maximum; a swap costs a rank's rows.
  const Shape shape{.layer_count = 1, .expert_count = 8, .rank_count = 4};
  const Numbers as_is{1, 0, 2, 3, 4, 5, 6, 7};
  const Placement current = placement_of(shape, as_is);
  const RealLoadMatrix load = load_of({{6, 4, 6, 4, 4, 2, 4, 2}});
  const auto with = [&](const std::string& options) {
    return planned("robust:fresh_starts=0," + options, current, load);
  };
  CHECK(with("rank_price=0.05") == as_is);
  const Placement levelled = placement_of(shape, with("rank_price=0.05,second_price=0.1"));
  CHECK(imbalance_of(levelled, load) == 1);
  CHECK(moved_expert_count(current, levelled) == 4);
  // Worth 25 % and priced 60 %: made without price, both are given back.
  CHECK(with("rank_price=0.3,second_price=0") == as_is);
}

TEST_CASE("a spare slot goes to the expert that needs it") {
  // Expert 0 alone makes 9 of 13: with the second copy of expert 1 given to it both ranks have
  // 4.5 + 1 + 1; with that of expert 2 they would have 7 and 6.
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};
  const Placement current = placement_of(shape, {0, 1, 2, 3, 1, 2});
  const Numbers occupants = planned("robust", current, load_of({{9, 1, 2, 1}}));
  CHECK(occupants == Numbers{0, 1, 2, 3, 0, 2});
}

TEST_CASE("experts that take turns are put on one rank, so that neither turn is a surprise") {
  // Experts 0 and 1 swap 6 and 2 tokens in every part. {0, 3 | 2, 1} is level in the newest part
  // and 4 against 12 in the next; {0, 1 | 2, 3} is level in both.
  const Shape shape{.layer_count = 1, .expert_count = 4, .rank_count = 2};
  const Placement current = placement_of(shape, {0, 3, 2, 1});
  const std::vector<RealLoadMatrix> history{load_of({{6, 2, 6, 2}}), load_of({{2, 6, 6, 2}}),
                                            load_of({{6, 2, 6, 2}}), load_of({{2, 6, 6, 2}}),
                                            load_of({{6, 2, 6, 2}})};
  const auto together = [&](std::string_view policy) {
    const Numbers placed = planned_on(policy, current, history);
    const std::span<const std::int32_t> rank_0 = std::span(placed).first(2);
    return std::ranges::count(rank_0, 0) == std::ranges::count(rank_0, 1);
  };
  CHECK(together("robust"));
  CHECK(!together("robust:directions=0"));
}

TEST_CASE("one expert with 64 to 100 % of a layer is spread over all ranks") {
  constexpr Shape kShape{
      .layer_count = 1, .expert_count = 64, .redundant_slot_count = 32, .rank_count = 32};
  const Placement current = Placement::initial(kShape);
  for (const double share : {0.64, 0.8, 0.95, 1.0}) {
    CAPTURE(share);
    RealLoadMatrix load = RealLoadMatrix::Constant(1, 64, 1000 * (1 - share) / 63);
    load(0, 17) = 1000 * share;
    for (const std::string_view policy : {"robust", "frugal"}) {
      CAPTURE(policy);
      const double ours =
          imbalance_of(plan({.policy = policy, .shape = kShape, .current = &current}, load), load);
      CHECK(ours <= 1.01);
      for (const std::string_view peer : {"default", "deepseek", "trtllm"}) {
        CHECK(ours <= imbalance_of(plan({.policy = peer, .shape = kShape}, load), load) + 1e-9);
      }
    }
  }
}

TEST_CASE("a layer without load stays as it is") {
  const Placement current = placement_of(kTwoRanks, {5, 4, 3, 2, 1, 0});
  CHECK(planned("robust", current, load_of({{0, 0, 0, 0, 0, 0}})) == Numbers{5, 4, 3, 2, 1, 0});
}

TEST_CASE("duplicates and empty slots of what serves are put to use") {
  const Shape shape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};
  for (const Numbers& wasteful : {Numbers{0, 0, 1, 2, 3, 3}, Numbers{0, -1, 1, 2, 3, -1}}) {
    const Placement current = placement_of(shape, wasteful);
    const Placement placed =
        plan({.policy = "robust:price=0.1", .shape = shape, .current = &current},
             load_of({{4, 1, 1, 4}}));
    CHECK(duplicate_count(placed) == 0);
    CHECK(std::ranges::count(placed.layers()[0].occupants(), kNoExpert) == 0);
  }
}

TEST_CASE("more slots a rank than experts hold each expert on every rank") {
  const Shape shape{
      .layer_count = 1, .expert_count = 2, .redundant_slot_count = 4, .rank_count = 2};
  const Placement placed = plan({.policy = "robust", .shape = shape}, load_of({{7, 2}}));
  CHECK(numbers_of(placed.layers()[0].occupants()) == Numbers{0, 1, 0, 0, 1, 0});
}

TEST_CASE("a budget of moved rows goes to the layer where a row gains most") {
  const Shape shape{.layer_count = 2, .expert_count = 6, .rank_count = 2};
  const Placement current = Placement::initial(shape);
  // One swap levels either layer; the first one falls from 12 to 10, the second one from 14.
  const RealLoadMatrix load = load_of({{8, 3, 1, 6, 1.5, 0.5}, {9, 4, 1, 5, 0.5, 0.5}});
  const auto placed = [&](std::string_view policy) {
    return plan({.policy = policy, .shape = shape, .current = &current}, load);
  };
  CHECK(moved_expert_count(current, placed("robust")) == 4);
  const Placement within = placed("robust:max_moved=0.2");  // 2 of 12 slots.
  CHECK(within.layers()[0] == current.layers()[0]);
  CHECK(numbers_of(within.layers()[1].occupants()) == Numbers{3, 1, 2, 0, 4, 5});
  CHECK(placed("robust:max_moved=0") == current);
}

TEST_CASE("a budget of moved rows cuts a layer's moves to those that gain most") {
  // Ranks of 12 and 6, of 10 and 8: two swaps make all four 9, the first one alone leaves 10.
  const Shape shape{.layer_count = 1, .expert_count = 8, .rank_count = 4};
  const Placement current = Placement::initial(shape);
  const RealLoadMatrix load = load_of({{8, 4, 1, 5, 6, 4, 3, 5}});
  CHECK(imbalance_of(placement_of(shape, planned("robust", current, load)), load) == 1);
  const Placement within = placement_of(shape, planned("robust:max_moved=0.25", current, load));
  CHECK(moved_expert_count(current, within) == 2);
  CHECK(imbalance_of(within, load) == doctest::Approx(10.0 / 9));
  // Without a price there is nothing to raise, and the layer stays.
  CHECK(planned("robust:rank_price=0,max_moved=0.25", current, load) ==
        numbers_of(current.layers()[0].occupants()));
}

}  // namespace
}  // namespace eplb::test
