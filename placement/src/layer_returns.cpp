// The steps of the search that take moved rows back.
#include <algorithm>
#include <cstddef>

#include "layer_search.hpp"
#include "rank_norm.hpp"

namespace eplb::placement {

void LayerSearch::give_back() {
  for (std::size_t steps = 0; steps < task_->slot_count(); ++steps) {
    Step best{.kind = StepKind::kNone, .ratio = 1 - kLeastGain, .slot = 0, .other = 0};
    for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
      if (!task_->holds_now(slot / task_->slots_per_rank, occupants_[slot])) {
        try_giving_back(slot, best);
      }
    }
    if (best.kind == StepKind::kNone) {
      return;
    }
    apply(best);
  }
}

void LayerSearch::try_giving_back(std::size_t slot, Step& best) const {
  const std::size_t rank = slot / task_->slots_per_rank;
  const std::size_t leaving = occupants_[slot];
  for (std::size_t coming = 0; coming < task_->expert_count; ++coming) {
    if (!task_->holds_now(rank, coming) || holds(rank, coming)) {
      continue;
    }
    if (holders_[leaving].size() > 1) {
      const double ratio = retarget_ratio(slot, coming);
      if (ratio < best.ratio) {
        best = {.kind = StepKind::kRetarget, .ratio = ratio, .slot = slot, .other = coming};
      }
    }
    for (const std::size_t holder : holders_[coming]) {
      if (holds(holder, leaving)) {
        continue;
      }
      const std::size_t first = holder * task_->slots_per_rank;
      const auto* const begin = occupants_.data() + first;
      const std::size_t other =
          first +
          static_cast<std::size_t>(std::find(begin, begin + task_->slots_per_rank, coming) - begin);
      const double ratio = swap_ratio(slot, other);
      if (ratio < best.ratio) {
        best = {.kind = StepKind::kSwap, .ratio = ratio, .slot = slot, .other = other};
      }
    }
  }
}

double LayerSearch::swap_ratio(std::size_t slot, std::size_t other) const {
  const std::size_t rank = slot / task_->slots_per_rank;
  const std::size_t other_rank = other / task_->slots_per_rank;
  const std::size_t leaving = occupants_[slot];
  const std::size_t coming = occupants_[other];
  Scenarios ratios{};
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    const double moved = copy_load_[leaving][scenario] - copy_load_[coming][scenario];
    const double others = std::max(0.0, power_sum_[scenario] - rank_power_[rank][scenario] -
                                            rank_power_[other_rank][scenario]);
    ratios[scenario] = (others + norm_power(rank_load_[rank][scenario] - moved) +
                        norm_power(rank_load_[other_rank][scenario] + moved)) *
                       inverse_power_sum_[scenario];
  }
  const int rows =
      rows_of_going(leaving, rank, other_rank) + rows_of_going(coming, other_rank, rank);
  return product(ratios) * price_of(rows) *
         leaving_ratio(leaving_of_going(leaving, rank, other_rank) +
                       leaving_of_going(coming, other_rank, rank));
}

}  // namespace eplb::placement
