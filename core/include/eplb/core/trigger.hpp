#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/policy.hpp"

namespace eplb {

/// What the trigger remembers of a group's past; the same on all ranks.
struct TriggerMemory {
  /// Steps that the newest window is a sum over, if every rank serves in each; unlike what a rank
  /// has recorded itself, it does not depend on who had no requests. Policies are told it too.
  std::int32_t recorded_steps = 0;
  /// Rearrangement in which each layer last moved because it paid, [layers]; 0 if it never has.
  std::vector<std::int64_t> last_moves = {};

  friend bool operator==(const TriggerMemory&, const TriggerMemory&) = default;
};

/// What the trigger knows beside the policy's problem; the same on all ranks.
struct TriggerProblem {
  TriggerOptions options;
  std::int32_t horizon_steps = 1;
  /// Bytes of an expert's weights, [layers].
  std::vector<std::int64_t> row_bytes;
  /// Rearrangements that have passed since each layer moved, [layers]: 1 is the one before this;
  /// 0 if it never has.
  std::vector<std::int64_t> rearrangements_since_move;

  friend bool operator==(const TriggerProblem&, const TriggerProblem&) = default;
};

/// What became of a policy's proposal.
struct TriggerVerdict {
  std::int32_t proposed_layers = 0;  ///< That the policy would change.
  std::int32_t declined_layers = 0;  ///< Of these, the ones that stay as they are,
  std::int32_t cooling_layers = 0;   ///< and of those again, the ones that moved not long ago.
  double gain_ns = 0;                ///< Of the layers that migrate, predicted, over the horizon.
  double price_ns = 0;               ///< And what that costs.
  double declined_gain_ns = 0;  ///< The same of layers that stay; those that cool are not asked.
  double declined_price_ns = 0;

  friend bool operator==(const TriggerVerdict&, const TriggerVerdict&) = default;
};

struct SelectedLayers {
  Placement placement;
  TriggerVerdict verdict;
};

/// Of `proposed` the layers that are worth their migration; the others stay as `problem.current`,
/// which must be given and of the same shape; window_steps must be known. A layer migrates if
///
///   horizon_steps x (gain - hysteresis x time) > price x migration_ns
///
/// where `time` is what the layer is predicted to take as it is and `gain` what it would take less,
/// by `problem.costs.layer`. Both are means over draws of what a forward may bring: the forecast of
/// the load, what past forecasts were wrong by, up or down, and the noise of counts. So a gain that
/// the parts of the history do not repeat is believed by as much as they do. A pure function, the
/// same on every rank.
[[nodiscard]] SelectedLayers select_layers(const PolicyProblem& problem, const Placement& proposed,
                                           const TriggerProblem& trigger);

}  // namespace eplb
