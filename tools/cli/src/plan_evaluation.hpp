#pragma once

#include <cstdint>

#include "eplb/core/balancedness.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/result.hpp"

namespace eplb::cli {

/// How good a placement is for a load. Without load all but the counts of slots are 0.
struct PlanEvaluation {
  double balancedness = 0;         ///< When each expert's load splits evenly over its replicas.
  double balancedness_hashed = 0;  ///< When it splits as the published replica choice does.
  Imbalance imbalance;             ///< Even split.

  /// Mean over layers of max(mean rank load, least possible largest replica), in tokens: no
  /// placement of this shape has a smaller mean of largest rank loads, the split being even.
  double bound = 0;
  /// Mean over layers of the largest rank load / that layer's bound; layers without load left out.
  double regret = 0;
  /// Mean over layers of the least largest rank load that any split over the placement's replicas
  /// reaches, in tokens.
  double bound_split = 0;

  std::int64_t duplicates = 0;     ///< Slots that hold an expert which its rank already has.
  std::int64_t moved_experts = 0;  ///< Slots whose expert its rank did not have before.
};

/// Largest rank loads against the bounds of their layers.
struct Regret {
  double bound = 0;   ///< As PlanEvaluation's.
  double regret = 0;  ///< As PlanEvaluation's.
};

/// `rank_loads` is [layers, ranks], `load` [layers, experts]. kInvalidArgument if load and shape
/// differ in size, or the load's sum overflows.
[[nodiscard]] Result<Regret> regret_of(const RealLoadMatrix& rank_loads, const RealLoadMatrix& load,
                                       const Shape& shape);

struct EvaluationInput {
  const Placement& planned;
  const Placement& before;     ///< Of the same shape; what moves are counted from.
  const RealLoadMatrix& load;  ///< [layers, experts]
  std::int32_t rows_per_rank;  ///< Rows of a step on each rank, for the hashed split.
};

/// kInvalidArgument if load and placement differ in size, or the load's sum overflows.
[[nodiscard]] Result<PlanEvaluation> evaluate_plan(const EvaluationInput& input);

}  // namespace eplb::cli
