#include "move_budget.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace eplb::placement {
namespace {

/// A price is raised so many times by so much, which makes the usual ones dearer than any gain.
constexpr int kRaises = 5;
constexpr double kRaise = 4;

/// Then it is sought between two raises, to 4^(1/8).
constexpr int kHalvings = 3;

double moved_rows(const std::vector<LayerPlan>& plans) {
  double rows = 0;
  for (const LayerPlan& plan : plans) {
    rows += static_cast<double>(plan.moved_rows);
  }
  return rows;
}

/// Puts layers back until the rest moves no more than `rest` rows.
void put_back(std::vector<LayerPlan>& plans, const PolicyProblem& problem, double rest) {
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    return plans[left].gain * static_cast<double>(plans[right].moved_rows) >
           plans[right].gain * static_cast<double>(plans[left].moved_rows);
  });
  for (const std::size_t layer : order) {
    const auto rows = static_cast<double>(plans[layer].moved_rows);
    if (rows <= rest) {
      rest -= rows;
      continue;
    }
    const auto now = problem.current->layer(LayerId{static_cast<std::int32_t>(layer)}).occupants();
    plans[layer].occupants.assign(now.begin(), now.end());
  }
}

}  // namespace

std::vector<LayerPlan> plan_within_budget(const PlanAtPrice& plan, const PolicyProblem& problem,
                                          double share) {
  const double budget = share * static_cast<double>(problem.shape.slot_count()) *
                        static_cast<double>(problem.shape.layer_count);
  double too_low = 1;
  double factor = 1;
  std::vector<LayerPlan> plans = plan(factor);
  if (moved_rows(plans) <= budget) {
    return plans;
  }
  for (int raise = 0; raise < kRaises && moved_rows(plans) > budget; ++raise) {
    too_low = factor;
    factor *= kRaise;
    plans = plan(factor);
  }
  if (moved_rows(plans) > budget) {
    put_back(plans, problem, budget);
    return plans;
  }
  for (int halving = 0; halving < kHalvings; ++halving) {
    const double between = std::sqrt(too_low * factor);
    std::vector<LayerPlan> cheaper = plan(between);
    if (moved_rows(cheaper) <= budget) {
      plans = std::move(cheaper);
      factor = between;
    } else {
      too_low = between;
    }
  }
  return plans;
}

}  // namespace eplb::placement
