#include "spare_study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>

#include "eplb/core/rank_load.hpp"

namespace eplb::cli {
namespace {

/// Plans layers one by one, with other shapes than the problem's.
class LayerPlanner {
 public:
  LayerPlanner(const PolicyProblem& problem, const PlacementPolicy& policy)
      : problem_(problem), policy_(policy), load_(window_load(problem)) {}

  /// A layer with so many spare slots, and so many experts more that nobody asks for: each takes a
  /// slot away from one rank or another.
  [[nodiscard]] Result<Placement> plan(std::int32_t layer, std::int32_t spares,
                                       std::int32_t idle_experts = 0) const {
    const std::vector<RealLoadMatrix> history{load_of(layer, idle_experts)};
    return policy_.place({.shape = {.layer_count = 1,
                                    .expert_count = problem_.shape.expert_count + idle_experts,
                                    .redundant_slot_count = spares,
                                    .rank_count = problem_.shape.rank_count},
                          .topology = problem_.topology,
                          .history = history,
                          .window_part_count = 1,
                          .current = nullptr,
                          .costs = problem_.costs});
  }

  /// Load of the busiest rank.
  [[nodiscard]] double largest(std::int32_t layer, const Placement& planned) const {
    const std::int32_t idle = planned.shape().expert_count - problem_.shape.expert_count;
    ReplicaShares even = ReplicaShares::even();
    return rank_loads(planned, load_of(layer, idle), even).maxCoeff();
  }

  [[nodiscard]] Result<double> largest(std::int32_t layer, std::int32_t spares) const {
    const auto planned = plan(layer, spares);
    return planned ? Result<double>(largest(layer, *planned)) : tl::unexpected(planned.error());
  }

  /// Of all layers' loads: the mean ranks' over the busiest ones', which sum to `largest_sum`.
  [[nodiscard]] double balancedness(double largest_sum) const {
    return load_.sum() / problem_.shape.rank_count / largest_sum;
  }

  [[nodiscard]] bool has_load() const { return load_.sum() > 0; }

 private:
  [[nodiscard]] RealLoadMatrix load_of(std::int32_t layer, std::int32_t idle_experts) const {
    RealLoadMatrix load = RealLoadMatrix::Zero(1, load_.cols() + idle_experts);
    load.row(0).head(load_.cols()) = load_.row(layer);
    return load;
  }

  const PolicyProblem& problem_;
  const PlacementPolicy& policy_;
  RealLoadMatrix load_;
};

/// A layer as it is dealt to, and as it would be with a slot more on every rank.
struct Budget {
  std::int32_t spares = 0;
  double largest = 0;
  std::optional<double> largest_with_more = {};

  [[nodiscard]] double gain() const {
    return largest_with_more.has_value() ? largest - *largest_with_more : 0;
  }
};

Result<void> look_ahead(Budget& budget, std::int32_t layer, const LayerPlanner& planner,
                        std::int32_t rank_count) {
  budget.largest_with_more.reset();
  if (budget.spares + rank_count > kMaxRedundantSlots) {
    return {};
  }
  const auto more = planner.largest(layer, budget.spares + rank_count);
  if (!more) {
    return tl::unexpected(more.error());
  }
  budget.largest_with_more = *more;
  return {};
}

Result<void> deal(const Shape& shape, const LayerPlanner& planner, SpareStudy& study) {
  const std::int32_t least =
      (shape.rank_count - shape.expert_count % shape.rank_count) % shape.rank_count;
  std::vector<Budget> budgets(static_cast<std::size_t>(shape.layer_count));
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    Budget& budget = budgets[static_cast<std::size_t>(layer)];
    budget.spares = least;
    const auto largest = planner.largest(layer, least);
    if (!largest) {
      return tl::unexpected(largest.error());
    }
    budget.largest = *largest;
    if (auto looked = look_ahead(budget, layer, planner, shape.rank_count); !looked) {
      return looked;
    }
  }
  const std::int64_t left = std::int64_t{shape.redundant_slot_count - least} * shape.layer_count;
  for (std::int64_t deals = left / shape.rank_count; deals > 0; --deals) {
    const auto best = std::ranges::max_element(budgets, {}, &Budget::gain);
    if (best == budgets.end() || best->gain() <= 0) {
      break;
    }
    best->spares += shape.rank_count;
    best->largest = *best->largest_with_more;
    const auto layer = static_cast<std::int32_t>(best - budgets.begin());
    if (auto looked = look_ahead(*best, layer, planner, shape.rank_count); !looked) {
      return looked;
    }
  }
  double largest_sum = 0;
  for (const Budget& budget : budgets) {
    study.spares_by_layer.push_back(budget.spares);
    largest_sum += budget.largest;
  }
  study.dealt = planner.balancedness(largest_sum);
  return {};
}

/// Slots of each rank that hold an expert somebody asks for.
void count_slots(const Placement& planned, std::int32_t expert_count, SpareStudy& study) {
  const LayerPlacement& layer = planned.layer(LayerId{0});
  for (std::int32_t rank = 0; rank < layer.rank_count(); ++rank) {
    const auto held = static_cast<std::int32_t>(
        std::ranges::count_if(layer.on_rank(RankId{rank}), [&](LogicalExpertId expert) {
          return expert != kNoExpert && expert.value < expert_count;
        }));
    study.slots_min = std::min(study.slots_min, held);
    study.slots_max = std::max(study.slots_max, held);
  }
}

}  // namespace

Result<SpareStudy> study_spares(const PolicyProblem& problem, const PlacementPolicy& policy) {
  const Shape& shape = problem.shape;
  const LayerPlanner planner(problem, policy);
  if (!planner.has_load()) {
    return fail(ErrorCode::kInvalidArgument, "there is no load at all to study spare slots by");
  }
  SpareStudy study{.slots_min = shape.slots_per_rank()};
  double equal_sum = 0;
  double uneven_sum = 0;
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const auto equal = planner.largest(layer, shape.redundant_slot_count);
    const auto uneven = planner.plan(layer, shape.redundant_slot_count, shape.rank_count);
    if (!equal || !uneven) {
      return tl::unexpected(equal ? uneven.error() : equal.error());
    }
    equal_sum += *equal;
    uneven_sum += planner.largest(layer, *uneven);
    count_slots(*uneven, shape.expert_count, study);
  }
  study.equal = planner.balancedness(equal_sum);
  study.uneven = planner.balancedness(uneven_sum);
  if (auto dealt = deal(shape, planner, study); !dealt) {
    return tl::unexpected(dealt.error());
  }
  return study;
}

nlohmann::ordered_json spare_study_json(const SpareStudy& study) {
  return {{"balancedness_equal", study.equal},
          {"balancedness_dealt_by_layer", study.dealt},
          {"spares_by_layer", study.spares_by_layer},
          {"balancedness_uneven_ranks", study.uneven},
          {"slots_min", study.slots_min},
          {"slots_max", study.slots_max}};
}

void print_spare_study(const SpareStudy& study, const Shape& shape, std::ostream& out) {
  const auto [least, most] = std::ranges::minmax(study.spares_by_layer);
  const std::int64_t used =
      std::accumulate(study.spares_by_layer.begin(), study.spares_by_layer.end(), std::int64_t{0});
  out << fmt::format(
      "\nif spare slots could be unequal, which engines do not have (each layer planned from "
      "scratch):\n"
      "  as they are                       balancedness {:.4f}\n"
      "  dealt to the layers that gain     balancedness {:.4f}, {} to {} a layer, {} of {} used\n"
      "  unequal over the ranks of a layer balancedness {:.4f}, {} to {} slots a rank\n",
      study.equal, study.dealt, least, most, used,
      std::int64_t{shape.redundant_slot_count} * shape.layer_count, study.uneven, study.slots_min,
      study.slots_max);
}

}  // namespace eplb::cli
