#include "swift_layer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace eplb::placement {
namespace {

/// Of the mean rank load: a layer that is nearer to level stays, an exchange that gains less ends
/// the search.
constexpr double kThreshold = 0.01;

constexpr std::size_t kExchangesMax = 100;

double share_of(double copies, SwiftShares shares) {
  return shares == SwiftShares::kEven ? 1 / std::max(copies, 1.0) : 2 / (copies + 1);
}

}  // namespace

SwiftLayer::SwiftLayer(const LayerPlacement& serving, std::span<const double> load,
                       SwiftShares shares)
    : serving_(serving),
      load_(load),
      shares_(shares),
      rank_count_(static_cast<std::size_t>(serving.rank_count())),
      slots_per_rank_(static_cast<std::size_t>(serving.slots_per_rank())),
      came_(rank_count_ * slots_per_rank_, 0),
      home_(load.size(), rank_count_),
      sent_(rank_count_ * rank_count_, 0) {
  for (const LogicalExpertId expert : serving.occupants()) {
    occupants_.push_back(expert == kNoExpert ? load.size() : expert.index());
  }
  share_out(SwiftShares::kEven);
}

bool SwiftLayer::holds(std::size_t rank, std::size_t expert) const {
  const auto first = occupants_.begin() + static_cast<std::ptrdiff_t>(rank * slots_per_rank_);
  const auto last = first + static_cast<std::ptrdiff_t>(slots_per_rank_);
  return std::find(first, last, expert) != last;
}

void SwiftLayer::share_out(SwiftShares shares) {
  std::vector<double> copies(load_.size() + 1, 0);
  for (const std::size_t expert : occupants_) {
    ++copies[expert];
  }
  copy_load_.assign(load_.size(), 0);
  for (std::size_t expert = 0; expert < load_.size(); ++expert) {
    copy_load_[expert] = load_[expert] * share_of(copies[expert], shares);
  }
  sum_up_ranks();
}

void SwiftLayer::sum_up_ranks() {
  rank_load_.assign(rank_count_, 0);
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    if (occupants_[slot] < load_.size()) {
      rank_load_[slot / slots_per_rank_] += copy_load_[occupants_[slot]];
    }
  }
}

std::size_t SwiftLayer::last_open_slot(std::size_t rank) const {
  std::size_t slot = (rank + 1) * slots_per_rank_ - 1;
  while (occupants_[slot] < load_.size()) {
    --slot;
  }
  return slot;
}

double SwiftLayer::largest_rank_load() const {
  return *std::ranges::max_element(rank_load_);
}

/// An expert's first copy, place by place over all ranks, stays; the slots of the others open.
void SwiftLayer::take_spares_out() {
  for (std::size_t place = 0; place < slots_per_rank_; ++place) {
    for (std::size_t rank = 0; rank < rank_count_; ++rank) {
      std::size_t& expert = occupants_[rank * slots_per_rank_ + place];
      if (expert < load_.size() && home_[expert] == rank_count_) {
        home_[expert] = rank;
      } else {
        expert = load_.size();
      }
    }
  }
}

/// Experts of the open slots, those with the largest load a copy first.
std::vector<std::size_t> SwiftLayer::spares_to_give() const {
  std::vector<double> copies(load_.size(), 1);
  const auto copy_load = [&](std::size_t expert) {
    return load_[expert] * share_of(copies[expert], shares_);
  };
  for (auto open = std::ranges::count(occupants_, load_.size()); open > 0; --open) {
    std::size_t neediest = load_.size();
    for (std::size_t expert = 0; expert < load_.size(); ++expert) {
      const bool has_room = copies[expert] < static_cast<double>(rank_count_);
      if (has_room && (neediest == load_.size() || copy_load(expert) >= copy_load(neediest))) {
        neediest = expert;
      }
    }
    if (neediest == load_.size()) {
      break;
    }
    ++copies[neediest];
  }
  std::vector<std::size_t> spares;
  for (std::size_t expert = 0; expert < load_.size(); ++expert) {
    spares.insert(spares.end(), static_cast<std::size_t>(copies[expert]) - 1, expert);
  }
  std::ranges::stable_sort(spares, std::ranges::greater{}, copy_load);
  return spares;
}

void SwiftLayer::put(std::size_t slot, std::size_t expert) {
  occupants_[slot] = expert;
  came_[slot] = 1;
  sent_[home_[expert] * rank_count_ + slot / slots_per_rank_] = 1;
}

void SwiftLayer::give_spares() {
  const std::vector<std::size_t> spares = spares_to_give();
  std::vector<double> copies(load_.size(), 1);
  for (const std::size_t expert : spares) {
    ++copies[expert];
  }
  for (std::size_t expert = 0; expert < load_.size(); ++expert) {
    copy_load_[expert] = load_[expert] * share_of(copies[expert], shares_);
  }
  sum_up_ranks();
  for (const std::size_t expert : spares) {
    std::size_t best = rank_count_;
    for (std::size_t rank = 0; rank < rank_count_; ++rank) {
      if (holds(rank, load_.size()) && !holds(rank, expert) &&
          sent_[home_[expert] * rank_count_ + rank] == 0 &&
          (best == rank_count_ || rank_load_[rank] < rank_load_[best])) {
        best = rank;
      }
    }
    if (best < rank_count_) {
      put(last_open_slot(best), expert);
      rank_load_[best] += copy_load_[expert];
    }
  }
}

/// Slots for which no spare could be sent take the hottest copy that their rank is without; one
/// that holds all experts takes the hottest. From then on copies count as they are.
void SwiftLayer::fill_open_slots() {
  SwiftShares shares = shares_;
  for (std::size_t slot = 0; slot < occupants_.size(); ++slot) {
    if (occupants_[slot] < load_.size()) {
      continue;
    }
    shares = SwiftShares::kEven;
    share_out(shares);
    const std::size_t rank = slot / slots_per_rank_;
    std::size_t best = 0;
    for (std::size_t expert = 1; expert < load_.size(); ++expert) {
      const std::pair badness(holds(rank, expert), -copy_load_[expert]);
      if (badness <= std::pair(holds(rank, best), -copy_load_[best])) {
        best = expert;
      }
    }
    put(slot, best);
  }
  share_out(shares);
}

bool SwiftLayer::may_exchange(std::size_t rank, std::size_t other) const {
  return rank != other && sent_[rank * rank_count_ + other] == 0 &&
         sent_[other * rank_count_ + rank] == 0;
}

SwiftLayer::Exchange SwiftLayer::best_exchange(std::size_t hottest, std::size_t other) const {
  Exchange best{.slot = 0, .other = 0, .hotter = rank_load_[hottest]};
  for (std::size_t slot = hottest * slots_per_rank_; slot < (hottest + 1) * slots_per_rank_;
       ++slot) {
    if (came_[slot] != 0 || holds(other, occupants_[slot])) {
      continue;
    }
    for (std::size_t place = other * slots_per_rank_; place < (other + 1) * slots_per_rank_;
         ++place) {
      if (came_[place] != 0 || holds(hottest, occupants_[place])) {
        continue;
      }
      const double moved = copy_load_[occupants_[slot]] - copy_load_[occupants_[place]];
      const double hotter = std::max(rank_load_[hottest] - moved, rank_load_[other] + moved);
      if (hotter < best.hotter) {
        best = {.slot = slot, .other = place, .hotter = hotter};
      }
    }
  }
  return best;
}

void SwiftLayer::exchange(const Exchange& step) {
  const std::size_t rank = step.slot / slots_per_rank_;
  const std::size_t other = step.other / slots_per_rank_;
  const double moved = copy_load_[occupants_[step.slot]] - copy_load_[occupants_[step.other]];
  rank_load_[rank] -= moved;
  rank_load_[other] += moved;
  std::swap(occupants_[step.slot], occupants_[step.other]);
  came_[step.slot] = 1;
  came_[step.other] = 1;
  sent_[rank * rank_count_ + other] = 1;
  sent_[other * rank_count_ + rank] = 1;
}

bool SwiftLayer::exchange_with_coolest() {
  std::vector<std::size_t> ranks(rank_count_);
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, std::ranges::less{},
                           [&](std::size_t rank) { return rank_load_[rank]; });
  const std::size_t hottest = ranks.back();
  const double mean =
      std::accumulate(load_.begin(), load_.end(), 0.0) / static_cast<double>(rank_count_);
  for (const std::size_t other : ranks) {
    if (!may_exchange(hottest, other)) {
      continue;
    }
    const Exchange best = best_exchange(hottest, other);
    const double gain = rank_load_[hottest] - best.hotter;
    if (gain > 0 && gain >= kThreshold * mean) {
      exchange(best);
      return true;
    }
  }
  return false;
}

std::vector<LogicalExpertId> SwiftLayer::plan() {
  std::vector<LogicalExpertId> now(serving_.occupants().begin(), serving_.occupants().end());
  const bool full = std::ranges::find(now, kNoExpert) == now.end();
  const double mean =
      std::accumulate(load_.begin(), load_.end(), 0.0) / static_cast<double>(rank_count_);
  const double before = largest_rank_load();
  if (full && before <= (1 + kThreshold) * mean) {
    return now;
  }
  take_spares_out();
  give_spares();
  fill_open_slots();
  for (std::size_t step = 0; step < kExchangesMax && exchange_with_coolest(); ++step) {
  }
  if (full && largest_rank_load() >= before) {
    return now;
  }
  std::vector<LogicalExpertId> planned;
  planned.reserve(occupants_.size());
  for (const std::size_t expert : occupants_) {
    planned.push_back(LogicalExpertId{static_cast<std::int32_t>(expert)});
  }
  return planned;
}

}  // namespace eplb::placement
