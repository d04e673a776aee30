#include "layer_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "rank_norm.hpp"
#include "whole_power.hpp"

namespace eplb::placement {
LayerSearch::LayerSearch(const LayerTask& task, std::vector<std::size_t> occupants)
    : task_(&task),
      occupants_(std::move(occupants)),
      held_(task.rank_count * task.expert_count, 0),
      holders_(task.expert_count),
      copy_load_(task.expert_count),
      rank_load_(task.rank_count),
      rank_power_(task.rank_count),
      rows_of_coming_(task.slots_per_rank),
      weighed_copy_(task.expert_count),
      weighed_rank_(task.rank_count) {
  reprice(task.row_price);
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    const std::size_t rank = slot / task_->slots_per_rank;
    holders_[occupants_[slot]].push_back(rank);
    set_held(rank, occupants_[slot], true);
  }
  for (std::size_t expert = 0; expert < task_->expert_count; ++expert) {
    share_out(expert);
  }
  for (std::size_t rank = 0; rank < task_->rank_count; ++rank) {
    sum_up(rank);
  }
  sum_up_powers();
  count_near_copies();
}

void LayerSearch::reprice(double row_price) {
  row_price_ = row_price;
  const double row_ratio =
      whole_power(1 + row_price, kScenarioCount * static_cast<std::size_t>(kNormExponent));
  prices_ = {1 / row_ratio / row_ratio, 1 / row_ratio, 1, row_ratio, row_ratio * row_ratio};
}

void LayerSearch::share_out(std::size_t expert) {
  copy_load_[expert] = task_->copy_load(expert, holders_[expert].size());
}

void LayerSearch::sum_up(std::size_t rank) {
  Scenarios load{};
  const std::size_t first = rank * task_->slots_per_rank;
  for (std::size_t slot = first; slot < first + task_->slots_per_rank; ++slot) {
    const Scenarios& copy = copy_load_[occupants_[slot]];
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      load[scenario] += copy[scenario];
    }
  }
  rank_load_[rank] = load;
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    rank_power_[rank][scenario] = norm_power(load[scenario]);
  }
}

void LayerSearch::sum_up_powers() {
  power_sum_ = {};
  for (const Scenarios& rank : rank_power_) {
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      power_sum_[scenario] += rank[scenario];
    }
  }
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    inverse_power_sum_[scenario] =
        1 / std::max(power_sum_[scenario], std::numeric_limits<double>::min());
  }
}

std::size_t LayerSearch::moved_rows() const {
  std::size_t moved = 0;
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    if (!task_->holds_now(slot / task_->slots_per_rank, occupants_[slot])) {
      ++moved;
    }
  }
  return moved;
}

double LayerSearch::load_cost() const {
  Scenarios norms = power_sum_;
  for (double& norm : norms) {
    norm /= static_cast<double>(task_->rank_count);
    for (int root = 0; root < kNormSquarings; ++root) {
      norm = std::sqrt(norm);
    }
  }
  return product(norms) * leaving_cost();
}

double LayerSearch::leaving_cost() const {
  return whole_power(1 + task_->leaving_price * leaving_, kScenarioCount);
}

double LayerSearch::peak_cost() const {
  Scenarios peaks{};
  for (const Scenarios& rank : rank_load_) {
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      peaks[scenario] = std::max(peaks[scenario], rank[scenario]);
    }
  }
  return product(peaks) * leaving_cost();
}

double LayerSearch::cost() const {
  return (task_->by_peak ? peak_cost() : load_cost()) *
         whole_power(1 + row_price_, kScenarioCount * moved_rows());
}

int LayerSearch::rows_of_retarget(std::size_t rank, std::size_t leaving, std::size_t coming) const {
  return (task_->holds_now(rank, coming) ? 0 : 1) - (task_->holds_now(rank, leaving) ? 0 : 1);
}

int LayerSearch::rows_of_going(std::size_t expert, std::size_t from, std::size_t to) const {
  const int paid = task_->holds_now(to, expert) ? 0 : 1;
  const int refunded = task_->holds_now(from, expert) ? 0 : 1;
  return paid - refunded;
}

void LayerSearch::weigh_scenarios(std::size_t hot_rank) {
  Scenarios weights{};
  double sum = 0;
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    weights[scenario] = rank_power_[hot_rank][scenario] * inverse_power_sum_[scenario];
    sum += weights[scenario];
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  const auto weigh = [&](const Scenarios& loads) { return weighed_sum(loads, weights); };
  std::ranges::transform(copy_load_, weighed_copy_.begin(), weigh);
  std::ranges::transform(rank_load_, weighed_rank_.begin(), weigh);
}

std::vector<std::size_t> LayerSearch::ranks_by_heat() const {
  std::vector<std::pair<double, std::size_t>> heats;
  heats.reserve(task_->rank_count);
  for (std::size_t rank = 0; rank < task_->rank_count; ++rank) {
    double heat = 0;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      heat += rank_power_[rank][scenario] * inverse_power_sum_[scenario];
    }
    heats.emplace_back(-heat, rank);
  }
  std::ranges::sort(heats);
  std::vector<std::size_t> ranks;
  ranks.reserve(heats.size());
  for (const auto& [heat, rank] : heats) {
    ranks.push_back(rank);
  }
  return ranks;
}

void LayerSearch::improve(std::size_t hot_rank_count) {
  // Every step lowers the cost, so that it ends; the limit bounds the time where steps are tiny.
  for (std::size_t steps = 0; steps < task_->slot_count(); ++steps) {
    Step best{.kind = StepKind::kNone, .ratio = 1 - kLeastGain, .slot = 0, .other = 0};
    const std::vector<std::size_t> ranks = ranks_by_heat();
    for (std::size_t place = 0; place < std::min(hot_rank_count, ranks.size()); ++place) {
      weigh_scenarios(ranks[place]);
      try_swaps(ranks[place], best);
      try_retargets(ranks[place], best);
      if (best.kind != StepKind::kNone) {
        break;
      }
    }
    if (best.kind == StepKind::kNone) {
      return;
    }
    apply(best);
  }
}

LayerSearch::PairTask LayerSearch::pair_task(std::size_t hot_rank, std::size_t rank) const {
  PairTask pair{.rank = rank, .others = {}};
  Scenarios ratios{};
  for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
    pair.others[scenario] = std::max(
        0.0, power_sum_[scenario] - rank_power_[hot_rank][scenario] - rank_power_[rank][scenario]);
    const double level = (rank_load_[hot_rank][scenario] + rank_load_[rank][scenario]) / 2;
    ratios[scenario] =
        (pair.others[scenario] + 2 * norm_power(level)) * inverse_power_sum_[scenario];
  }
  pair.level_ratio = product(ratios);
  pair.least_ratio = pair.level_ratio;
  if (minds_leaving()) {
    pair.least_ratio *=
        leaving_ratio(least_leaving(hot_rank, rank) + least_leaving(rank, hot_rank));
  }
  return pair;
}

void LayerSearch::try_swaps(std::size_t hot_rank, Step& best) {
  pairs_.clear();
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(task_->rank_count);
  for (std::size_t rank = 0; rank < task_->rank_count; ++rank) {
    pairs_.push_back(pair_task(hot_rank, rank));
    if (rank != hot_rank) {
      order.emplace_back(pairs_.back().least_ratio, rank);
    }
  }
  std::ranges::sort(order);
  for (const auto& [least_ratio, rank] : order) {
    if (!may_beat(least_ratio, -kStepRowsMax, best)) {
      return;
    }
    try_swaps_between(hot_rank, pairs_[rank], best);
  }
}

void LayerSearch::try_swaps_between(std::size_t hot_rank, const PairTask& pair, Step& best) {
  const Scenarios& hot_load = rank_load_[hot_rank];
  const Scenarios& load = rank_load_[pair.rank];
  const double gap = weighed_rank_[hot_rank] - weighed_rank_[pair.rank];
  const std::size_t hot_first = hot_rank * task_->slots_per_rank;
  const std::size_t first = pair.rank * task_->slots_per_rank;
  int least_rows = 1;
  for (std::size_t place = 0; place < task_->slots_per_rank; ++place) {
    rows_of_coming_[place] = rows_of_going(occupants_[first + place], pair.rank, hot_rank);
    least_rows = std::min(least_rows, rows_of_coming_[place]);
  }
  for (std::size_t hot = hot_first; hot < hot_first + task_->slots_per_rank; ++hot) {
    const std::size_t leaving = occupants_[hot];
    const int rows_of_leaving = rows_of_going(leaving, hot_rank, pair.rank);
    if (!may_beat(pair.least_ratio, rows_of_leaving + least_rows, best) ||
        holds(pair.rank, leaving)) {
      continue;
    }
    const double change_of_leaving = leaving_of_going(leaving, hot_rank, pair.rank);
    const Scenarios& leaving_load = copy_load_[leaving];
    for (std::size_t slot = first; slot < first + task_->slots_per_rank; ++slot) {
      const std::size_t coming = occupants_[slot];
      // What does not relieve the hot rank, or makes the other one hotter than it was, is out.
      const double relief = weighed_copy_[leaving] - weighed_copy_[coming];
      if (relief <= 0 || relief >= gap || holds(hot_rank, coming)) {
        continue;
      }
      const int rows = rows_of_leaving + rows_of_coming_[slot - first];
      const double nearness =
          leaving_ratio(change_of_leaving + leaving_of_going(coming, pair.rank, hot_rank));
      if (!may_beat(pair.level_ratio * nearness, rows, best)) {
        continue;
      }
      const Scenarios& coming_load = copy_load_[coming];
      Scenarios ratios{};
      for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
        const double moved = leaving_load[scenario] - coming_load[scenario];
        ratios[scenario] = (pair.others[scenario] + norm_power(hot_load[scenario] - moved) +
                            norm_power(load[scenario] + moved)) *
                           inverse_power_sum_[scenario];
      }
      const double ratio = product(ratios) * price_of(rows) * nearness;
      if (ratio < best.ratio) {
        best = {.kind = StepKind::kSwap, .ratio = ratio, .slot = hot, .other = slot};
      }
    }
  }
}

void LayerSearch::apply(const Step& step) {
  if (step.kind == StepKind::kSwap) {
    swap_slots(step.slot, step.other);
  } else {
    retarget(step.slot, step.other);
  }
  sum_up_powers();
  count_near_copies();
}

void LayerSearch::swap_slots(std::size_t slot, std::size_t other) {
  const std::size_t rank = slot / task_->slots_per_rank;
  const std::size_t other_rank = other / task_->slots_per_rank;
  const std::size_t expert = occupants_[slot];
  const std::size_t other_expert = occupants_[other];
  set_held(rank, expert, false);
  set_held(other_rank, other_expert, false);
  set_held(rank, other_expert, true);
  set_held(other_rank, expert, true);
  *std::ranges::find(holders_[expert], rank) = other_rank;
  *std::ranges::find(holders_[other_expert], other_rank) = rank;
  std::swap(occupants_[slot], occupants_[other]);
  sum_up(rank);
  sum_up(other_rank);
}

}  // namespace eplb::placement
