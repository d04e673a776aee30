#include "robust_policy.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/nearest_load.hpp"
#include "eplb/placement/slot_preservation.hpp"
#include "fresh_start.hpp"
#include "layer_search.hpp"
#include "layerwise.hpp"
#include "move_budget.hpp"
#include "whole_power.hpp"

namespace eplb::placement {
namespace {

/// Ranks that a step is sought for, the hottest first, before a search counts as done.
constexpr std::size_t kHotRanks = 8;

std::vector<LogicalExpertId> as_experts(std::span<const std::size_t> occupants) {
  std::vector<LogicalExpertId> experts;
  experts.reserve(occupants.size());
  for (const std::size_t expert : occupants) {
    experts.push_back(LogicalExpertId{static_cast<std::int32_t>(expert)});
  }
  return experts;
}

bool knows_cost(const PolicyProblem& problem, const RobustOptions& options) {
  const ExpertLayerCost& cost = problem.costs.layer;
  return (options.step_tokens > 0 || problem.window_steps > 0) &&
         cost.ns_per_touched_expert + cost.ns_per_padded_row + cost.ns_per_dispatched_row +
                 cost.ns_per_combined_row + cost.ns_per_assignment >
             0;
}

/// Plans the layers of one problem, one after the other.
class Planner {
 public:
  Planner(const PolicyProblem& problem, const RobustOptions& options)
      : problem_(problem),
        options_(options),
        expert_count_(static_cast<std::size_t>(problem.shape.expert_count)),
        load_(window_load(problem)),
        domain_parts_(domain_parts(problem.topology)) {
    Foresight foresight = foresee(problem, options.scenarios);
    foreseen_ = std::move(foresight.load);
    visiting_ = foresight.visiting;
    for (std::int32_t rank = 0; rank < problem.shape.rank_count; ++rank) {
      domain_of_rank_.push_back(problem.topology.domain_of(RankId{rank}).index());
    }
  }

  /// All layers, with every row's price taken `price_factor` times.
  [[nodiscard]] std::vector<LayerPlan> plan_all(double price_factor) const {
    std::vector<LayerPlan> plans;
    plans.reserve(static_cast<std::size_t>(problem_.shape.layer_count));
    for (std::int32_t layer = 0; layer < problem_.shape.layer_count; ++layer) {
      plans.push_back(plan(LayerId{layer}, price_factor));
    }
    return plans;
  }

 private:
  [[nodiscard]] LayerPlan plan(LayerId layer, double price_factor) const {
    const LayerPlacement* current =
        problem_.current == nullptr ? nullptr : &problem_.current->layer(layer);
    if (load_.row(layer.value).maxCoeff() == 0) {
      return unchanged(current);
    }
    const Shape& shape = problem_.shape;
    if (shape.slots_per_rank() >= shape.expert_count) {
      return everything_everywhere();
    }
    const std::optional<WorkScale> work = work_of(layer);
    LayerTask task = task_of(layer, current);
    task.row_price *= price_factor;
    task.by_peak = one_takes_most(layer);
    task.work = work.has_value() ? &*work : nullptr;
    std::optional<LayerSearch> best;
    double cost_now = 0;
    if (current != nullptr && current->slot_count() == shape.slot_count()) {
      best.emplace(task, without_waste(task, numbers_of(*current)));
      cost_now = best->load_cost();
      search_from_serving(task, *best);
    }
    search_afresh(task, best);
    LayerPlan plan{.occupants = as_experts(best->occupants()),
                   .moved_rows = best->moved_rows(),
                   .gain = cost_now / best->load_cost() - 1};
    if (current != nullptr) {
      plan.occupants =
          preserve_slots(current->occupants(), std::move(plan.occupants), shape.slots_per_rank());
    }
    return plan;
  }

  /// Without load there is nothing to plan by.
  [[nodiscard]] LayerPlan unchanged(const LayerPlacement* current) const {
    const auto full = [](const LayerPlacement& layer) {
      return std::ranges::find(layer.occupants(), kNoExpert) == layer.occupants().end();
    };
    const bool keeps = current != nullptr && current->slot_count() == problem_.shape.slot_count() &&
                       full(*current);
    const LayerPlacement initial = LayerPlacement::initial(problem_.shape);
    const std::span<const LogicalExpertId> occupants =
        keeps ? current->occupants() : initial.occupants();
    return {.occupants = {occupants.begin(), occupants.end()}};
  }

  /// Ranks that have room for all experts are all alike, and so is their load.
  [[nodiscard]] LayerPlan everything_everywhere() const {
    LayerPlan plan;
    const std::int32_t slot_count = problem_.shape.slot_count();
    plan.occupants.reserve(static_cast<std::size_t>(slot_count));
    for (std::int32_t slot = 0; slot < slot_count; ++slot) {
      const std::int32_t local = slot % problem_.shape.slots_per_rank();
      plan.occupants.push_back(LogicalExpertId{local % problem_.shape.expert_count});
    }
    return plan;
  }

  [[nodiscard]] bool one_takes_most(LayerId layer) const {
    const auto load = load_.row(layer.value);
    return load.maxCoeff() > load.sum() / 2;
  }

  /// A row's price, by how long what it gains is likely to last. What is wrong with the placement
  /// that a loader fills, before any load is known, lasts the longest. A gain from load that only
  /// visits goes with it, and rows cost up to twice as much. Where one expert takes more than half
  /// of a layer, balance is worth more than a few rows: those that steps must move together on the
  /// way from one number of its copies to another.
  [[nodiscard]] double row_price(LayerId layer, const LayerPlacement& current) const {
    constexpr double kPercent = 100;
    constexpr double kDiscount = 0.1;
    const bool unplanned = current == LayerPlacement::initial(problem_.shape);
    return (unplanned ? kDiscount : 1 + visiting_) * (one_takes_most(layer) ? kDiscount : 1) *
           (options_.price * kPercent / problem_.shape.slot_count() +
            options_.rank_price / problem_.shape.slots_per_rank());
  }

  [[nodiscard]] LayerTask task_of(LayerId layer, const LayerPlacement* current) const {
    const Shape& shape = problem_.shape;
    LayerTask task{
        .expert_count = expert_count_,
        .rank_count = static_cast<std::size_t>(shape.rank_count),
        .slots_per_rank = static_cast<std::size_t>(shape.slots_per_rank()),
        .load = std::span(foreseen_).subspan(layer.index() * expert_count_, expert_count_),
        .held_now = {},
        .row_price = current == nullptr ? 0 : row_price(layer, *current),
        .domain_of_rank = domain_of_rank_,
        .domain_parts = domain_parts_,
        .leaving_price = domain_parts_.size() > 1 ? options_.topology_price : 0};
    if (task.leaving_price > 0) {
      task.leaving_min = least_leaving_share(task);
    }
    task.held_now.assign(task.rank_count * task.expert_count, 0);
    const std::int32_t known_ranks =
        current == nullptr ? 0 : std::min(shape.rank_count, current->rank_count());
    for (std::int32_t rank = 0; rank < known_ranks; ++rank) {
      for (const LogicalExpertId expert : current->on_rank(RankId{rank})) {
        if (expert != kNoExpert) {
          task.held_now[static_cast<std::size_t>(rank) * expert_count_ + expert.index()] = 1;
        }
      }
    }
    return task;
  }

  /// What an expert of the layer gets in a step, mean over experts; above 0 if it has any load.
  [[nodiscard]] double step_tokens(LayerId layer) const {
    return options_.step_tokens > 0 ? options_.step_tokens
                                    : load_.row(layer.value).mean() / problem_.window_steps;
  }

  /// How a layer's load counts; none where it is tokens.
  [[nodiscard]] std::optional<WorkScale> work_of(LayerId layer) const {
    if (options_.objective == Objective::kTokens || !knows_cost(problem_, options_)) {
      return std::nullopt;
    }
    const Shape& shape = problem_.shape;
    const double tokens = step_tokens(layer);
    const ExpertWork work(problem_.costs.layer, shape, tokens);
    const double tokens_per_unit = tokens * shape.expert_count / shape.rank_count;
    double sum = 0;
    for (std::size_t expert = 0; expert < expert_count_; ++expert) {
      const Scenarios& load = foreseen_[layer.index() * expert_count_ + expert];
      sum += work.of(load.front() * tokens_per_unit);
    }
    return WorkScale(work, tokens_per_unit, sum / shape.rank_count);
  }

  [[nodiscard]] std::vector<std::size_t> numbers_of(const LayerPlacement& layer) const {
    std::vector<std::size_t> numbers;
    numbers.reserve(layer.occupants().size());
    for (const LogicalExpertId expert : layer.occupants()) {
      numbers.push_back(expert == kNoExpert ? expert_count_ : expert.index());
    }
    return numbers;
  }

  /// Whether against a placement of this cost not even a perfect one, level and with as few rows
  /// that leave as there can be, would be worth `rows` moved rows.
  [[nodiscard]] static bool cannot_pay(double cost, const LayerTask& task, std::size_t rows) {
    constexpr auto kScenarios = static_cast<double>(kScenarioCount);
    const double perfect = whole_power(1 + task.leaving_price * task.leaving_min, kScenarioCount);
    return cost <= perfect * (1 + kScenarios * task.row_price * static_cast<double>(rows));
  }

  /// Where several ranks are about equally hot no single step gains its price, though all together
  /// do: a second search at a part of the price takes them, and gives back what they were not
  /// worth.
  void search_from_serving(const LayerTask& task, LayerSearch& search) const {
    search.bring_near();
    if (options_.second_price_share == 1 && !task.by_peak) {
      search.improve(kHotRanks);
      return;
    }
    LayerSearch second = search;
    LayerSearch first = search;
    first.improve(kHotRanks);
    take_if_better(std::move(first), search);
    second.reprice(options_.second_price_share * task.row_price);
    second.improve(kHotRanks);
    second.reprice(task.row_price);
    second.give_back();
    second.improve(kHotRanks);
    take_if_better(std::move(second), search);
  }

  static void take_if_better(LayerSearch&& search, LayerSearch& best) {
    if (search.cost() < best.cost()) {
      best = std::move(search);
    }
  }

  /// Exchanges `best` for what is found from scratch, if that is better after its price.
  void search_afresh(const LayerTask& task, std::optional<LayerSearch>& best) const {
    const bool only_way = !best.has_value();
    if (!only_way && (options_.fresh_starts == 0 || cannot_pay(best->cost(), task, 1))) {
      return;
    }
    std::vector<LayerSearch> starts;
    for (std::vector<std::size_t>& start : fresh_starts(task)) {
      starts.emplace_back(task, std::move(start));
    }
    std::vector<std::pair<double, std::size_t>> order;
    order.reserve(starts.size());
    for (std::size_t start = 0; start < starts.size(); ++start) {
      order.emplace_back(starts[start].cost(), start);
    }
    std::ranges::sort(order);
    // There are more than usual where one expert takes most of the layer, and all are worth a try.
    const std::size_t extra = std::max(starts.size(), kUsualStarts) - kUsualStarts;
    order.resize(std::min(order.size(),
                          extra + static_cast<std::size_t>(std::max(options_.fresh_starts, 1))));
    if (only_way) {
      best = starts[order.front().second];
    }
    const double serving = best->cost();
    for (const auto& [cost, start] : order) {
      LayerSearch& search = starts[start];
      if (!only_way && cannot_pay(serving, task, search.moved_rows())) {
        continue;
      }
      search.bring_near();
      if (task.by_peak) {
        take_if_better(LayerSearch(search), *best);
      }
      search.improve(kHotRanks);
      search.give_back();
      search.improve(kHotRanks);
      take_if_better(std::move(search), *best);
    }
  }

  const PolicyProblem& problem_;
  const RobustOptions& options_;
  std::size_t expert_count_;
  std::vector<Scenarios> foreseen_;
  double visiting_ = 0;
  RealLoadMatrix load_;
  std::vector<std::size_t> domain_of_rank_;  ///< [ranks]
  std::vector<double> domain_parts_;         ///< [domains]: part of the ranks that each has.
};

}  // namespace

Result<Placement> RobustPolicy::place(const PolicyProblem& problem) const {
  if (auto checked = check_problem(problem); !checked) {
    return tl::unexpected(checked.error());
  }
  if (options_.objective == Objective::kCost && !knows_cost(problem, options_)) {
    return fail(ErrorCode::kInvalidArgument,
                "objective=cost needs the tokens of a step (step_tokens) and the costs of an "
                "expert layer");
  }
  const Planner planner(problem, options_);
  std::vector<LayerPlan> plans =
      options_.max_moved_share < 1 && problem.current != nullptr &&
              problem.current->shape() == problem.shape
          ? plan_within_budget([&](double factor) { return planner.plan_all(factor); }, problem,
                               options_.max_moved_share)
          : planner.plan_all(1);
  std::vector<LayerPlacement> layers;
  layers.reserve(plans.size());
  for (LayerPlan& plan : plans) {
    auto placed = LayerPlacement::create(problem.shape, std::move(plan.occupants));
    if (!placed) {
      return tl::unexpected(placed.error());
    }
    layers.push_back(*std::move(placed));
  }
  return Placement::create(problem.shape, std::move(layers));
}

}  // namespace eplb::placement
