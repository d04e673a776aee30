#include "fresh_start.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "rank_assignment.hpp"

namespace eplb::placement {
namespace {

enum class LoadOf : std::uint8_t { kMean, kWorst };      ///< Over scenarios.
enum class RankBy : std::uint8_t { kMean, kScenarios };  ///< Least mean load, or all scenarios.

/// Loads of the 8-norm choose ranks while they fill up: while loads are far from their final sums a
/// sharper norm would see the largest rank only.
double packing_power(double load) {
  load *= load;
  load *= load;
  return load * load;
}

std::vector<double> loads(const LayerTask& task, LoadOf kind) {
  std::vector<double> loads;
  loads.reserve(task.expert_count);
  for (const Scenarios& load : task.load) {
    loads.push_back(kind == LoadOf::kWorst ? *std::ranges::max_element(load)
                                           : std::accumulate(load.begin(), load.end(), 0.0) /
                                                 static_cast<double>(kScenarioCount));
  }
  return loads;
}

/// Copies of each expert, at most one a rank; `heaviest` has at least `least_copies`, if they fit.
std::vector<std::size_t> copies_for(const LayerTask& task, std::span<const double> load,
                                    std::size_t heaviest, std::size_t least_copies) {
  std::vector<std::size_t> copies(task.expert_count, 1);
  std::size_t spare = task.slot_count() - task.expert_count;
  const std::size_t first = std::min({spare, least_copies - 1, task.rank_count - 1});
  copies[heaviest] += first;
  for (spare -= first; spare > 0; --spare) {
    std::size_t neediest = task.expert_count;
    double largest = -1;
    for (std::size_t expert = 0; expert < task.expert_count; ++expert) {
      const double copy_load = load[expert] / static_cast<double>(copies[expert]);
      if (copies[expert] < task.rank_count && copy_load > largest) {
        neediest = expert;
        largest = copy_load;
      }
    }
    ++copies[neediest];
  }
  return copies;
}

/// Ranks that fill up with copies.
class Packing {
 public:
  Packing(const LayerTask& task, std::span<const std::size_t> copies)
      : task_(task),
        copies_(copies),
        experts_(task.rank_count),
        held_(task.rank_count * task.expert_count, false),
        load_(task.rank_count),
        power_(task.rank_count) {}

  void add(std::size_t expert, RankBy choice) {
    std::size_t best = task_.rank_count;
    double least = 0;
    for (std::size_t rank = 0; rank < task_.rank_count; ++rank) {
      if (experts_[rank].size() == task_.slots_per_rank || holds(rank, expert)) {
        continue;
      }
      const double badness = badness_with(rank, expert, choice);
      if (best == task_.rank_count || badness < least) {
        best = rank;
        least = badness;
      }
    }
    if (best < task_.rank_count) {
      put(best, expert);
    } else {
      make_room(expert);
    }
  }

  [[nodiscard]] const std::vector<std::vector<std::size_t>>& experts() const { return experts_; }

 private:
  [[nodiscard]] bool holds(std::size_t rank, std::size_t expert) const {
    return held_[rank * task_.expert_count + expert];
  }

  [[nodiscard]] double share(std::size_t expert) const {
    return 1 / static_cast<double>(copies_[expert]);
  }

  [[nodiscard]] double badness_with(std::size_t rank, std::size_t expert, RankBy choice) const {
    double badness = 0;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      const double after = load_[rank][scenario] + task_.load[expert][scenario] * share(expert);
      badness += choice == RankBy::kMean ? load_[rank][scenario]
                                         : packing_power(after) - power_[rank][scenario];
    }
    return badness;
  }

  void put(std::size_t rank, std::size_t expert) {
    experts_[rank].push_back(expert);
    held_[rank * task_.expert_count + expert] = true;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      load_[rank][scenario] += task_.load[expert][scenario] * share(expert);
      power_[rank][scenario] = packing_power(load_[rank][scenario]);
    }
  }

  void take(std::size_t rank, std::size_t place) {
    const std::size_t expert = experts_[rank][place];
    experts_[rank].erase(experts_[rank].begin() + static_cast<std::ptrdiff_t>(place));
    held_[rank * task_.expert_count + expert] = false;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      load_[rank][scenario] -= task_.load[expert][scenario] * share(expert);
      power_[rank][scenario] = packing_power(load_[rank][scenario]);
    }
  }

  /// Every rank with room holds the expert already: another rank's occupant goes there and makes
  /// room. There is one: some rank is without the expert and full, the one with room holds fewer,
  /// so that it lacks one of the other's.
  void make_room(std::size_t expert) {
    for (std::size_t open = 0; open < task_.rank_count; ++open) {
      if (experts_[open].size() == task_.slots_per_rank) {
        continue;
      }
      for (std::size_t full = 0; full < task_.rank_count; ++full) {
        if (holds(full, expert)) {
          continue;
        }
        for (std::size_t place = experts_[full].size(); place-- > 0;) {
          const std::size_t moving = experts_[full][place];
          if (!holds(open, moving)) {
            take(full, place);
            put(open, moving);
            put(full, expert);
            return;
          }
        }
      }
    }
  }

  const LayerTask& task_;
  std::span<const std::size_t> copies_;
  std::vector<std::vector<std::size_t>> experts_;  ///< [ranks], as they came.
  std::vector<bool> held_;                         ///< [ranks * experts]
  std::vector<Scenarios> load_;                    ///< [ranks]
  std::vector<Scenarios> power_;                   ///< [ranks]
};

std::vector<std::size_t> packed(const LayerTask& task, std::span<const std::size_t> copies,
                                std::span<const double> load, RankBy choice) {
  std::vector<std::size_t> order(task.expert_count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    return load[left] / static_cast<double>(copies[left]) >
           load[right] / static_cast<double>(copies[right]);
  });
  Packing packing(task, copies);
  for (const std::size_t expert : order) {
    for (std::size_t copy = 0; copy < copies[expert]; ++copy) {
      packing.add(expert, choice);
    }
  }
  return on_present_ranks(packing.experts(), task.held_now);
}

}  // namespace

std::vector<std::vector<std::size_t>> fresh_starts(const LayerTask& task) {
  std::vector<std::vector<std::size_t>> starts;
  const auto add = [&](LoadOf kind, RankBy choice, bool spread_heaviest) {
    const std::vector<double> load = loads(task, kind);
    const auto heaviest = static_cast<std::size_t>(std::ranges::max_element(load) - load.begin());
    if (spread_heaviest && load[heaviest] <= 1) {
      return;
    }
    const std::size_t least_copies = spread_heaviest ? task.rank_count : 1;
    const std::vector<std::size_t> copies = copies_for(task, load, heaviest, least_copies);
    starts.push_back(packed(task, copies, load, choice));
  };
  add(LoadOf::kMean, RankBy::kMean, false);
  add(LoadOf::kWorst, RankBy::kScenarios, false);
  add(LoadOf::kMean, RankBy::kScenarios, false);
  add(LoadOf::kMean, RankBy::kScenarios, true);
  return starts;
}

std::vector<std::size_t> without_waste(const LayerTask& task, std::vector<std::size_t> occupants) {
  const std::vector<double> load = loads(task, LoadOf::kMean);
  std::vector<bool> held(task.rank_count * task.expert_count, false);
  std::vector<std::size_t> copies(task.expert_count, 0);
  std::vector<std::size_t> open_slots;
  for (std::size_t slot = 0; slot < occupants.size(); ++slot) {
    const std::size_t expert = occupants[slot];
    const std::size_t cell = slot / task.slots_per_rank * task.expert_count + expert;
    if (expert == task.expert_count || held[cell]) {
      open_slots.push_back(slot);
    } else {
      held[cell] = true;
      ++copies[expert];
    }
  }
  for (const std::size_t slot : open_slots) {
    const std::size_t first_cell = slot / task.slots_per_rank * task.expert_count;
    double largest = -1;
    for (std::size_t expert = 0; expert < task.expert_count; ++expert) {
      const double copy_load = load[expert] / static_cast<double>(copies[expert]);
      if (!held[first_cell + expert] && copy_load > largest) {
        occupants[slot] = expert;
        largest = copy_load;
      }
    }
    held[first_cell + occupants[slot]] = true;
    ++copies[occupants[slot]];
  }
  return occupants;
}

}  // namespace eplb::placement
