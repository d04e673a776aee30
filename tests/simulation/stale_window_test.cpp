// Goal: the load window stays right when maps change under it. Method: an interval shorter than the
// window, so that every plan but the first counts steps from before a commit; what each plan is
// made from is compared with a recount of all ranks' tokens by brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "function_policy.hpp"
#include "served_group.hpp"

namespace eplb {
namespace {

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 6, .redundant_slot_count = 2, .rank_count = 4};
constexpr std::int64_t kWindow = 13;

/// No two steps, ranks, layers or experts have the same tokens for long.
LoadMatrix tokens_of(RankId rank, std::int64_t step) {
  LoadMatrix tokens(kShape.layer_count, kShape.expert_count);
  for (std::int64_t layer = 0; layer < kShape.layer_count; ++layer) {
    for (std::int64_t expert = 0; expert < kShape.expert_count; ++expert) {
      tokens(layer, expert) = (step * step * (expert + 2) + 7 * step + 31 * layer + 5 * expert +
                               std::int64_t{11} * rank.value) %
                              97;
    }
  }
  return tokens;
}

/// Over all ranks and steps [first, last).
LoadMatrix recount(std::int64_t first, std::int64_t last) {
  LoadMatrix sum = LoadMatrix::Zero(kShape.layer_count, kShape.expert_count);
  for (std::int64_t step = first; step < last; ++step) {
    for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
      sum += tokens_of(RankId{rank}, step);
    }
  }
  return sum;
}

TEST_CASE("plans of a window longer than the interval are made from the newest recorded steps") {
  EplbOptions options;
  options.window_size = kWindow;
  options.step_interval = 8;
  const auto policy = test::rotating_policy();
  test::ServedGroup served({.settings = test::settings_of(kShape, options)}, policy);
  served.tokens = tokens_of;
  std::vector<RealLoadMatrix> planned_from;
  served.group().rank(RankId{3}).planner().inspect(
      [&](const PlanRequest& request, sim::SimPlanDesk::Answer& /*answer*/) {
        planned_from.push_back(*request.history.back());
      });
  REQUIRE(served.rearrange_until(6, 200));
  CHECK(served.faults().empty());
  const auto rearrangements = served.balancer(3).rearrangements();
  REQUIRE(planned_from.size() >= 6);
  for (std::size_t index = 0; index < 6; ++index) {
    CAPTURE(index);
    CHECK(rearrangements[index].committed_layers == kShape.layer_count);
    // The counts of the step that triggers are still on their way.
    const std::int64_t trigger = rearrangements[index].start_step;
    const LoadMatrix expected = recount(std::max<std::int64_t>(0, trigger - kWindow), trigger);
    CHECK(planned_from[index] == expected.cast<double>());
  }
  // Windows reach over the commits of the rearrangement before: that is what the case is about.
  CHECK(rearrangements[2].start_step - kWindow < rearrangements[1].end_step);
}

}  // namespace
}  // namespace eplb
