#include "fresh_start.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "flash_layer.hpp"
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

/// An expert whose number of copies is chosen beforehand, from 1 to the ranks.
struct Chosen {
  std::size_t expert;
  std::size_t copies;
};

/// Copies of each expert, at most one a rank, by largest load a copy, but for the chosen expert.
std::vector<std::size_t> copies_for(const LayerTask& task, std::span<const double> load,
                                    const std::optional<Chosen>& chosen) {
  std::vector<std::size_t> copies(task.expert_count, 1);
  std::size_t spare = task.slot_count() - task.expert_count;
  const std::size_t fixed = chosen.has_value() ? chosen->expert : task.expert_count;
  if (chosen.has_value()) {
    const std::size_t given = std::min(spare, chosen->copies - 1);
    copies[fixed] += given;
    spare -= given;
  }
  for (; spare > 0; --spare) {
    std::size_t neediest = task.expert_count;
    double largest = -1;
    for (std::size_t expert = 0; expert < task.expert_count; ++expert) {
      const double copy_load = load[expert] / static_cast<double>(copies[expert]);
      if (copies[expert] < task.rank_count && copy_load > largest && expert != fixed) {
        neediest = expert;
        largest = copy_load;
      }
    }
    ++copies[neediest == task.expert_count ? fixed : neediest];
  }
  return copies;
}

/// Ranks that fill up with copies.
class Packing {
 public:
  Packing(const LayerTask& task, std::span<const std::size_t> copies)
      : task_(task),
        experts_(task.rank_count),
        held_(task.rank_count * task.expert_count, false),
        load_(task.rank_count),
        power_(task.rank_count) {
    for (std::size_t expert = 0; expert < task.expert_count; ++expert) {
      copy_load_.push_back(task.copy_load(expert, copies[expert]));
    }
  }

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

  [[nodiscard]] double badness_with(std::size_t rank, std::size_t expert, RankBy choice) const {
    double badness = 0;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      const double after = load_[rank][scenario] + copy_load_[expert][scenario];
      badness += choice == RankBy::kMean ? load_[rank][scenario]
                                         : packing_power(after) - power_[rank][scenario];
    }
    return badness;
  }

  void put(std::size_t rank, std::size_t expert) {
    experts_[rank].push_back(expert);
    held_[rank * task_.expert_count + expert] = true;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      load_[rank][scenario] += copy_load_[expert][scenario];
      power_[rank][scenario] = packing_power(load_[rank][scenario]);
    }
  }

  void take(std::size_t rank, std::size_t place) {
    const std::size_t expert = experts_[rank][place];
    experts_[rank].erase(experts_[rank].begin() + static_cast<std::ptrdiff_t>(place));
    held_[rank * task_.expert_count + expert] = false;
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      load_[rank][scenario] -= copy_load_[expert][scenario];
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
  std::vector<Scenarios> copy_load_;               ///< [experts]
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

/// FlashLB's way: several numbers of copies tried for a quarter of the experts after the other.
std::vector<std::size_t> replayed(const LayerTask& task, std::span<const double> load) {
  std::vector<std::vector<double>> parts;
  parts.reserve(load.size());
  for (const double value : load) {
    parts.push_back({value});
  }
  const FlashLayer flash({}, {.rank_count = task.rank_count, .slots_per_rank = task.slots_per_rank},
                         std::move(parts));
  return without_waste(task, on_present_ranks(flash.plan(), task.held_now));
}

}  // namespace

std::vector<std::vector<std::size_t>> fresh_starts(const LayerTask& task) {
  std::vector<std::vector<std::size_t>> starts;
  const auto add = [&](LoadOf kind, RankBy choice, const std::optional<Chosen>& chosen) {
    const std::vector<double> load = loads(task, kind);
    const std::vector<std::size_t> copies = copies_for(task, load, chosen);
    starts.push_back(packed(task, copies, load, choice));
  };
  add(LoadOf::kMean, RankBy::kMean, std::nullopt);
  add(LoadOf::kWorst, RankBy::kScenarios, std::nullopt);
  add(LoadOf::kMean, RankBy::kScenarios, std::nullopt);
  const std::vector<double> load = loads(task, LoadOf::kMean);
  const auto heaviest = static_cast<std::size_t>(std::ranges::max_element(load) - load.begin());
  const auto least = static_cast<std::size_t>(std::ceil(load[heaviest]));
  if (least < 2 || least > task.rank_count) {
    return starts;
  }
  // One on every rank; and, where the expert takes more than half of the layer, from as many as
  // keep each below a rank's mean load upwards.
  constexpr std::size_t kSteps = 4;
  const bool takes_most = 2 * least > task.rank_count;
  for (std::size_t step = takes_most ? 1 : kSteps; step <= kSteps; ++step) {
    const std::size_t copies = least + (task.rank_count - least) * step / kSteps;
    add(LoadOf::kMean, RankBy::kScenarios, Chosen{.expert = heaviest, .copies = copies});
  }
  if (takes_most) {
    starts.push_back(replayed(task, load));
  }
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
