#include "flash_layer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace eplb::placement {
namespace {

/// Mean and `deviations` standard deviations.
double mean_and_risk(std::span<const double> parts, double deviations) {
  const auto count = static_cast<double>(parts.size());
  const double mean = std::accumulate(parts.begin(), parts.end(), 0.0) / count;
  double squares = 0;
  for (const double part : parts) {
    squares += (part - mean) * (part - mean);
  }
  return mean + deviations * std::sqrt(squares / std::max(count - 1, 1.0));
}

std::size_t spare_count(std::span<const std::size_t> experts, std::span<const std::size_t> copies) {
  return std::accumulate(
      experts.begin(), experts.end(), std::size_t{0},
      [&](std::size_t sum, std::size_t expert) { return sum + copies[expert] - 1; });
}

}  // namespace

FlashLayer::FlashLayer(const FlashOptions& options, const Group& group,
                       std::vector<std::vector<double>> load)
    : options_(options), group_(group), load_(std::move(load)), worth_(load_.size()) {
  std::ranges::transform(load_, worth_.begin(), [&](const std::vector<double>& parts) {
    return mean_and_risk(parts, options_.risk);
  });
}

void FlashLayer::share_out(std::span<const std::size_t> experts, std::size_t spares,
                           Copies& copies) const {
  double sum = 0;
  for (const std::size_t expert : experts) {
    sum += worth_[expert];
  }
  std::vector<std::pair<double, std::size_t>> parts_left;  // Negated, so that the largest is first.
  std::size_t given = 0;
  for (std::size_t place = 0; place < experts.size(); ++place) {
    const double quota = sum > 0
                             ? worth_[experts[place]] / sum * static_cast<double>(spares)
                             : static_cast<double>(spares) / static_cast<double>(experts.size());
    const double whole = std::floor(quota);
    copies[experts[place]] = 1 + static_cast<std::size_t>(whole);
    given += static_cast<std::size_t>(whole);
    parts_left.emplace_back(whole - quota, place);
  }
  std::ranges::sort(parts_left);
  for (std::size_t next = 0; given < spares; ++next, ++given) {
    ++copies[experts[parts_left[next % parts_left.size()].second]];
  }
}

double FlashLayer::risk_with(const std::vector<double>& rank, std::size_t expert,
                             double share) const {
  const auto count = static_cast<double>(rank.size());
  double sum = 0;
  double squares = 0;
  for (std::size_t part = 0; part < rank.size(); ++part) {
    sum += rank[part] + load_[expert][part] * share;
  }
  const double mean = sum / count;
  for (std::size_t part = 0; part < rank.size(); ++part) {
    const double off = rank[part] + load_[expert][part] * share - mean;
    squares += off * off;
  }
  return mean + options_.risk * std::sqrt(squares / std::max(count - 1, 1.0));
}

/// Largest mean load a copy first, each to the rank with the least risk that is without the expert;
/// where none has room, to any that has.
FlashLayer::Packs FlashLayer::pack(const Copies& copies) const {
  std::vector<std::size_t> order(load_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> copy_load(load_.size());
  for (std::size_t expert = 0; expert < load_.size(); ++expert) {
    copy_load[expert] = std::accumulate(load_[expert].begin(), load_[expert].end(), 0.0) /
                        static_cast<double>(copies[expert]);
  }
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t expert) { return copy_load[expert]; });
  Packs packs(group_.rank_count);
  std::vector<std::vector<double>> rank_load(group_.rank_count,
                                             std::vector<double>(load_.front().size(), 0));
  for (const std::size_t expert : order) {
    const double share = 1 / static_cast<double>(copies[expert]);
    for (std::size_t copy = 0; copy < copies[expert]; ++copy) {
      std::size_t best = group_.rank_count;
      std::pair<bool, double> least;
      for (std::size_t rank = 0; rank < group_.rank_count; ++rank) {
        if (packs[rank].size() == group_.slots_per_rank) {
          continue;
        }
        const bool held = std::ranges::find(packs[rank], expert) != packs[rank].end();
        const std::pair badness(held, risk_with(rank_load[rank], expert, share));
        if (best == group_.rank_count || badness < least) {
          best = rank;
          least = badness;
        }
      }
      packs[best].push_back(expert);
      for (std::size_t part = 0; part < rank_load[best].size(); ++part) {
        rank_load[best][part] += load_[expert][part] * share;
      }
    }
  }
  return packs;
}

double FlashLayer::levelness(const Packs& packs) const {
  std::vector<double> copies(load_.size(), 0);
  for (const std::vector<std::size_t>& pack : packs) {
    for (const std::size_t expert : pack) {
      ++copies[expert];
    }
  }
  double imbalances = 0;
  double counted = 0;
  for (std::size_t part = 0; part < load_.front().size(); ++part) {
    double sum = 0;
    double largest = 0;
    for (const std::vector<std::size_t>& pack : packs) {
      double rank_load = 0;
      for (const std::size_t expert : pack) {
        rank_load += load_[expert][part] / copies[expert];
      }
      sum += rank_load;
      largest = std::max(largest, rank_load);
    }
    if (sum > 0) {
      imbalances += largest * static_cast<double>(packs.size()) / sum;
      counted += 1;
    }
  }
  return counted > 0 ? counted / imbalances : 1;
}

FlashLayer::Packs FlashLayer::plan() const {
  std::vector<std::size_t> order(load_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t expert) { return worth_[expert]; });
  const auto groups = static_cast<std::size_t>(options_.groups);
  const std::size_t group_size = (order.size() + groups - 1) / groups;
  Copies copies(load_.size(), 1);
  std::size_t spares = group_.rank_count * group_.slots_per_rank - load_.size();
  share_out(order, spares, copies);
  // Each group in turn settles on its number of spare copies, what is left goes to the later ones.
  for (std::span<const std::size_t> rest(order); spares > 0 && rest.size() > group_size;
       rest = rest.subspan(group_size)) {
    const std::span<const std::size_t> now = rest.first(group_size);
    const std::span<const std::size_t> later = rest.subspan(group_size);
    const auto sharing = [&](std::size_t own) {
      Copies tried = copies;
      share_out(now, own, tried);
      share_out(later, spares - own, tried);
      return tried;
    };
    share_out(rest, spares, copies);
    const std::size_t first = spare_count(now, copies);
    std::size_t chosen = first;
    double best = levelness(pack(sharing(first)));
    const auto try_number = [&](std::size_t own) {
      const double level = levelness(pack(sharing(own)));
      if (level > best) {
        best = level;
        chosen = own;
      }
    };
    for (std::size_t step = 1; step <= static_cast<std::size_t>(options_.reach); ++step) {
      if (step <= first) {
        try_number(first - step);
      }
      if (first + step <= spares) {
        try_number(first + step);
      }
    }
    copies = sharing(chosen);
    spares -= chosen;
  }
  return pack(copies);
}

}  // namespace eplb::placement
