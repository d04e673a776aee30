// The steps of the search that give a spare slot to another expert.
#include <algorithm>
#include <cstddef>

#include "layer_search.hpp"
#include "rank_norm.hpp"

namespace eplb::placement {
void LayerSearch::try_retargets(std::size_t hot_rank, Step& best) const {
  const std::size_t hot_first = hot_rank * task_->slots_per_rank;
  std::vector<double> least_ratios(task_->slots_per_rank);
  for (std::size_t place = 0; place < task_->slots_per_rank; ++place) {
    least_ratios[place] = least_ratio_of_copying(occupants_[hot_first + place], hot_rank);
  }
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    if (!can_spare(slot, hot_rank)) {
      continue;
    }
    const std::size_t rank = slot / task_->slots_per_rank;
    if (rank == hot_rank) {
      for (std::size_t expert = 0; expert < task_->expert_count; ++expert) {
        try_retarget(hot_rank, slot, expert, best);
      }
      continue;
    }
    for (std::size_t place = 0; place < task_->slots_per_rank; ++place) {
      const std::size_t expert = occupants_[hot_first + place];
      const double least_ratio =
          least_ratios[place] * leaving_ratio(leaving_of_retarget(slot, expert));
      if (may_beat(least_ratio, rows_of_retarget(rank, occupants_[slot], expert), best)) {
        try_retarget(hot_rank, slot, expert, best);
      }
    }
  }
}

/// Whether an expert has another copy than that of the slot, and the other copies, which take over
/// the load, leave all their ranks cooler than the hot one is.
bool LayerSearch::can_spare(std::size_t slot, std::size_t hot_rank) const {
  const std::size_t leaving = occupants_[slot];
  const std::size_t copies = holders_[leaving].size();
  if (copies < 2) {
    return false;
  }
  double hottest_other = 0;
  for (const std::size_t holder : holders_[leaving]) {
    if (holder != slot / task_->slots_per_rank) {
      hottest_other = std::max(hottest_other, weighed_rank_[holder]);
    }
  }
  return hottest_other + weighed_copy_[leaving] / static_cast<double>(copies - 1) <
         weighed_rank_[hot_rank];
}

/// One copy more takes its part from each that there is; at best their ranks but the hot one have
/// no load any more.
double LayerSearch::least_ratio_of_copying(std::size_t expert, std::size_t hot_rank) const {
  const auto copies = static_cast<double>(holders_[expert].size());
  Scenarios powers = power_sum_;
  for (const std::size_t holder : holders_[expert]) {
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      powers[scenario] -= rank_power_[holder][scenario];
    }
  }
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    const double load =
        rank_load_[hot_rank][scenario] - copy_load_[expert][scenario] / (copies + 1);
    powers[scenario] =
        (std::max(0.0, powers[scenario]) + norm_power(load)) * inverse_power_sum_[scenario];
  }
  return product(powers);
}

void LayerSearch::try_retarget(std::size_t hot_rank, std::size_t slot, std::size_t expert,
                               Step& best) const {
  const std::size_t rank = slot / task_->slots_per_rank;
  if (holds(rank, expert)) {
    return;
  }
  const auto copies = static_cast<double>(holders_[expert].size());
  const double load_after = weighed_rank_[rank] - weighed_copy_[occupants_[slot]] +
                            weighed_copy_[expert] * copies / (copies + 1);
  if (load_after >= weighed_rank_[hot_rank]) {
    return;
  }
  const double ratio = retarget_ratio(slot, expert);
  if (ratio < best.ratio) {
    best = {.kind = StepKind::kRetarget, .ratio = ratio, .slot = slot, .other = expert};
  }
}

double LayerSearch::retarget_ratio(std::size_t slot, std::size_t expert) const {
  const std::size_t leaving = occupants_[slot];
  const std::size_t rank = slot / task_->slots_per_rank;
  // Of each copy that stays, and of each that there is; the latter negative.
  Scenarios leaving_rise = task_->copy_load(leaving, holders_[leaving].size() - 1);
  Scenarios coming_rise = task_->copy_load(expert, holders_[expert].size() + 1);
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    leaving_rise[scenario] -= copy_load_[leaving][scenario];
    coming_rise[scenario] -= copy_load_[expert][scenario];
  }
  Scenarios untouched = power_sum_;
  Scenarios touched{};
  const auto change = [&](std::size_t changed, const auto& load_after) {
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      untouched[scenario] -= rank_power_[changed][scenario];
      touched[scenario] += norm_power(load_after(scenario));
    }
  };
  for (const std::size_t holder : holders_[leaving]) {
    if (holder != rank) {
      const double has_both = holds(holder, expert) ? 1 : 0;
      change(holder, [&](std::size_t scenario) {
        return rank_load_[holder][scenario] + leaving_rise[scenario] +
               has_both * coming_rise[scenario];
      });
    }
  }
  for (const std::size_t holder : holders_[expert]) {
    if (!holds(holder, leaving)) {
      change(holder, [&](std::size_t scenario) {
        return rank_load_[holder][scenario] + coming_rise[scenario];
      });
    }
  }
  change(rank, [&](std::size_t scenario) {
    return rank_load_[rank][scenario] - copy_load_[leaving][scenario] +
           copy_load_[expert][scenario] + coming_rise[scenario];
  });
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    touched[scenario] =
        (std::max(0.0, untouched[scenario]) + touched[scenario]) * inverse_power_sum_[scenario];
  }
  return product(touched) * price_of(rows_of_retarget(rank, leaving, expert)) *
         leaving_ratio(leaving_of_retarget(slot, expert));
}

void LayerSearch::retarget(std::size_t slot, std::size_t expert) {
  const std::size_t leaving = occupants_[slot];
  const std::size_t rank = slot / task_->slots_per_rank;
  occupants_[slot] = expert;
  set_held(rank, leaving, false);
  set_held(rank, expert, true);
  holders_[leaving].erase(std::ranges::find(holders_[leaving], rank));
  holders_[expert].push_back(rank);
  share_out(leaving);
  share_out(expert);
  sum_up(rank);
  for (const std::size_t changed : {leaving, expert}) {
    for (const std::size_t holder : holders_[changed]) {
      sum_up(holder);
    }
  }
}

}  // namespace eplb::placement
