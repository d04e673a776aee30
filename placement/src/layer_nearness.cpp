// Rows that leave their NVLink domain, and the steps of the search that bring copies near them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "layer_search.hpp"
#include "rank_norm.hpp"
#include "whole_power.hpp"

namespace eplb::placement {
namespace {

/// Experts that a spare slot is offered to, those that most rows leave its domain for.
constexpr std::size_t kMostMissed = 4;

}  // namespace

double least_leaving_share(const LayerTask& task) {
  const auto ranks = static_cast<double>(task.rank_count);
  double leaving = 0;
  std::vector<double> gains;  // Of a copy in each domain,
  for (const Scenarios& load : task.load) {
    for (const double part : task.domain_parts) {
      gains.push_back(load.front() / ranks * part);
      leaving += gains.back();
    }
  }
  // of which there are as many as slots, at best the largest ones.
  const std::size_t count = std::min(task.slot_count(), gains.size());
  std::ranges::partial_sort(gains, gains.begin() + static_cast<std::ptrdiff_t>(count),
                            std::ranges::greater());
  for (std::size_t place = 0; place < count; ++place) {
    leaving -= gains[place];
  }
  return std::max(leaving, 0.0);
}

void LayerSearch::count_near_copies() {
  if (!minds_leaving()) {
    return;
  }
  if (row_part_.empty()) {
    for (const Scenarios& load : task_->load) {
      row_part_.push_back(load.front() / static_cast<double>(task_->rank_count));
    }
  }
  const std::size_t domain_count = task_->domain_parts.size();
  near_copies_.assign(task_->expert_count * domain_count, 0);
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    ++near_copies(occupants_[slot], domain_of(slot / task_->slots_per_rank));
  }
  leaving_ = 0;
  for (std::size_t expert = 0; expert < task_->expert_count; ++expert) {
    for (std::size_t domain = 0; domain < domain_count; ++domain) {
      if (near_copies(expert, domain) == 0) {
        leaving_ += row_part_[expert] * task_->domain_parts[domain];
      }
    }
  }
}

double LayerSearch::leaving_of_coming(std::size_t expert, std::size_t rank) const {
  const std::size_t domain = domain_of(rank);
  return near_copies(expert, domain) == 0 ? -row_part_[expert] * task_->domain_parts[domain] : 0;
}

double LayerSearch::leaving_of_parting(std::size_t expert, std::size_t rank) const {
  const std::size_t domain = domain_of(rank);
  return near_copies(expert, domain) == 1 ? row_part_[expert] * task_->domain_parts[domain] : 0;
}

double LayerSearch::leaving_of_going(std::size_t expert, std::size_t from, std::size_t to) const {
  if (!minds_leaving() || domain_of(from) == domain_of(to)) {
    return 0;
  }
  return leaving_of_parting(expert, from) + leaving_of_coming(expert, to);
}

double LayerSearch::leaving_of_retarget(std::size_t slot, std::size_t expert) const {
  if (!minds_leaving()) {
    return 0;
  }
  const std::size_t rank = slot / task_->slots_per_rank;
  return leaving_of_parting(occupants_[slot], rank) + leaving_of_coming(expert, rank);
}

double LayerSearch::least_leaving(std::size_t from, std::size_t to) const {
  double least = 0;
  const std::size_t first = from * task_->slots_per_rank;
  for (std::size_t slot = first; slot < first + task_->slots_per_rank; ++slot) {
    least = std::min(least, leaving_of_going(occupants_[slot], from, to));
  }
  return least;
}

double LayerSearch::leaving_ratio(double change) const {
  if (change == 0) {
    return 1;
  }
  const double before = 1 + task_->leaving_price * leaving_;
  const double after = before + task_->leaving_price * change;
  return whole_power(after / before, kScenarioCount * static_cast<std::size_t>(kNormExponent));
}

std::vector<std::size_t> LayerSearch::most_missed(std::size_t domain) const {
  std::vector<std::pair<double, std::size_t>> missed;
  for (std::size_t expert = 0; expert < task_->expert_count; ++expert) {
    if (near_copies(expert, domain) == 0) {
      missed.emplace_back(-row_part_[expert], expert);
    }
  }
  const std::size_t count = std::min(kMostMissed, missed.size());
  std::ranges::partial_sort(missed, missed.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::size_t> experts;
  for (std::size_t place = 0; place < count; ++place) {
    experts.push_back(missed[place].second);
  }
  return experts;
}

void LayerSearch::bring_near() {
  if (!minds_leaving()) {
    return;
  }
  // Each step lowers the cost, so that rounds end; the limit bounds the time where steps are tiny.
  bool improved = true;
  for (std::size_t rounds = 0; improved && rounds < task_->slot_count(); ++rounds) {
    improved = false;
    for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
      if (holders_[occupants_[slot]].size() < 2) {
        continue;  // Wherever an only copy is, as many rows leave.
      }
      Step best{.kind = StepKind::kNone, .ratio = 1 - kLeastGain, .slot = 0, .other = 0};
      try_missed(slot, best);
      try_bringing(slot, best);
      if (best.kind != StepKind::kNone) {
        apply(best);
        improved = true;
      }
    }
  }
}

/// The slot for an expert that more rows leave its domain for.
void LayerSearch::try_missed(std::size_t slot, Step& best) const {
  for (const std::size_t expert : most_missed(domain_of(slot / task_->slots_per_rank))) {
    if (leaving_of_retarget(slot, expert) >= 0) {
      continue;
    }
    const double ratio = retarget_ratio(slot, expert);
    if (ratio < best.ratio) {
      best = {.kind = StepKind::kRetarget, .ratio = ratio, .slot = slot, .other = expert};
    }
  }
}

/// A copy that its domain can do without, into one that has none.
void LayerSearch::try_bringing(std::size_t slot, Step& best) const {
  const std::size_t from = slot / task_->slots_per_rank;
  for (std::size_t rank = 0; rank < task_->rank_count; ++rank) {
    if (leaving_of_going(occupants_[slot], from, rank) < 0) {
      try_swaps_into(slot, rank, best);
    }
  }
}

/// In exchange for the copy of the rank that is nearest to it in load, by which no rank gets much
/// hotter.
void LayerSearch::try_swaps_into(std::size_t slot, std::size_t rank, Step& best) const {
  const std::size_t from = slot / task_->slots_per_rank;
  const double load = copy_load_[occupants_[slot]].front();
  const std::size_t first = rank * task_->slots_per_rank;
  std::size_t nearest = occupants_.size();
  double least_gap = 0;
  for (std::size_t other = first; other < first + task_->slots_per_rank; ++other) {
    const std::size_t coming = occupants_[other];
    const double gap = std::abs(copy_load_[coming].front() - load);
    if (!holds(from, coming) && leaving_of_going(coming, rank, from) <= 0 &&
        (nearest == occupants_.size() || gap < least_gap)) {
      nearest = other;
      least_gap = gap;
    }
  }
  if (nearest == occupants_.size()) {
    return;
  }
  const double ratio = swap_ratio(slot, nearest);
  if (ratio < best.ratio) {
    best = {.kind = StepKind::kSwap, .ratio = ratio, .slot = slot, .other = nearest};
  }
}

}  // namespace eplb::placement
