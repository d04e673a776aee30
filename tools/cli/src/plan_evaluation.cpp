#include "plan_evaluation.hpp"

#include <utility>

#include "eplb/core/rank_load.hpp"
#include "eplb/placement/bounds.hpp"

namespace eplb::cli {

Result<Regret> regret_of(const RealLoadMatrix& rank_loads, const RealLoadMatrix& load,
                         const Shape& shape) {
  Regret sum;
  double loaded_layers = 0;
  for (Eigen::Index layer = 0; layer < load.rows(); ++layer) {
    const auto bound = placement::layer_bound(load.row(layer), shape);
    if (!bound) {
      return tl::unexpected(bound.error());
    }
    if (bound->value() > 0) {
      sum.bound += bound->value();
      sum.regret += rank_loads.row(layer).maxCoeff() / bound->value();
      loaded_layers += 1;
    }
  }
  return loaded_layers > 0 ? Regret{.bound = sum.bound / static_cast<double>(load.rows()),
                                    .regret = sum.regret / loaded_layers}
                           : Regret{};
}

Result<PlanEvaluation> evaluate_plan(const EvaluationInput& input) {
  const Shape& shape = input.planned.shape();
  ReplicaShares even = ReplicaShares::even();
  // The published hash knows no rank, so one rank's rows have the shares of all.
  ReplicaShares hashed = ReplicaShares::of_choice(
      {.choice = ReplicaChoice::kHash, .rows_per_rank = input.rows_per_rank, .rank_count = 1});
  const RealLoadMatrix even_loads = rank_loads(input.planned, input.load, even);
  const RealLoadMatrix hashed_loads = rank_loads(input.planned, input.load, hashed);
  const auto regret = regret_of(even_loads, input.load, shape);
  if (!regret) {
    return tl::unexpected(regret.error());
  }
  const auto bound_split = placement::bound_split(input.load, input.planned);
  if (!bound_split) {
    return tl::unexpected(bound_split.error());
  }
  return PlanEvaluation{.balancedness = balancedness(even_loads).value,
                        .balancedness_hashed = balancedness(hashed_loads).value,
                        .imbalance = imbalance(even_loads),
                        .bound = regret->bound,
                        .regret = regret->regret,
                        .bound_split = *bound_split,
                        .duplicates = duplicate_count(input.planned),
                        .moved_experts = moved_expert_count(input.before, input.planned)};
}

}  // namespace eplb::cli
