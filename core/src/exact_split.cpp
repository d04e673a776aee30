#include "eplb/core/exact_split.hpp"

#include <algorithm>
#include <numeric>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

constexpr std::int64_t div_ceil(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

}  // namespace

ExactSplit::ExactSplit(const Options& options)
    : options_(options),
      loads_(static_cast<std::size_t>(options.rank_count), 0),
      shared_slots_(loads_.size()),
      reached_(loads_.size(), false),
      steps_(loads_.size()) {}

std::int64_t ExactSplit::deal(std::span<const std::int64_t> counts, const LayerMap& map,
                              std::span<std::int64_t> tokens_per_slot) {
  EPLB_ASSERT_OP(tokens_per_slot.size(), ==,
                 loads_.size() * static_cast<std::size_t>(options_.slots_per_rank));
  deal_evenly(counts, map, tokens_per_slot);
  std::int64_t limit =
      div_ceil(std::accumulate(loads_.begin(), loads_.end(), std::int64_t{0}), options_.rank_count);
  while (*std::ranges::max_element(loads_) > limit) {
    const std::int32_t rank = search(limit, tokens_per_slot);
    if (rank >= 0) {
      shift(rank, limit, tokens_per_slot);
    } else {
      limit = mean_of_reached();
    }
  }
  return limit;
}

void ExactSplit::deal_evenly(std::span<const std::int64_t> counts, const LayerMap& map,
                             std::span<std::int64_t> tokens_per_slot) {
  std::ranges::fill(tokens_per_slot, 0);
  std::ranges::fill(loads_, 0);
  siblings_.clear();
  for (auto& slots : shared_slots_) {
    slots.clear();
  }
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const auto slots = map.slots(LogicalExpertId{static_cast<std::int32_t>(index)});
    const auto replicas = static_cast<std::int64_t>(slots.size());
    EPLB_ASSERT(replicas > 0 || counts[index] == 0);
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      const std::int32_t slot = slots[static_cast<std::size_t>(replica)];
      const std::int64_t tokens =
          counts[index] / replicas + (replica < counts[index] % replicas ? 1 : 0);
      tokens_per_slot[static_cast<std::size_t>(slot)] = tokens;
      loads_[rank_of(slot)] += tokens;
      if (replicas > 1) {
        shared_slots_[rank_of(slot)].push_back(
            {.slot = slot, .expert = static_cast<std::int32_t>(siblings_.size())});
      }
    }
    if (replicas > 1) {
      siblings_.push_back(slots);
    }
  }
}

std::int32_t ExactSplit::search(std::int64_t limit, std::span<const std::int64_t> tokens) {
  open_.clear();
  for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
    reached_[rank] = loads_[rank] > limit;
    steps_[rank] = {};
    if (reached_[rank]) {
      open_.push_back(static_cast<std::int32_t>(rank));
    }
  }
  for (std::size_t next = 0; next < open_.size(); ++next) {
    for (const SharedSlot& from : shared_slots_[static_cast<std::size_t>(open_[next])]) {
      if (tokens[static_cast<std::size_t>(from.slot)] == 0) {
        continue;
      }
      for (const std::int32_t to : siblings_[static_cast<std::size_t>(from.expert)]) {
        const std::size_t rank = rank_of(to);
        if (reached_[rank]) {
          continue;
        }
        reached_[rank] = true;
        steps_[rank] = {.from_slot = from.slot, .to_slot = to};
        if (loads_[rank] < limit) {
          return static_cast<std::int32_t>(rank);
        }
        open_.push_back(static_cast<std::int32_t>(rank));
      }
    }
  }
  return -1;
}

void ExactSplit::shift(std::int32_t rank, std::int64_t limit, std::span<std::int64_t> tokens) {
  const auto end = static_cast<std::size_t>(rank);
  std::int64_t amount = limit - loads_[end];
  std::size_t begin = end;
  while (steps_[begin].from_slot >= 0) {
    const std::int32_t from = steps_[begin].from_slot;
    amount = std::min(amount, tokens[static_cast<std::size_t>(from)]);
    begin = rank_of(from);
  }
  amount = std::min(amount, loads_[begin] - limit);
  for (std::size_t at = end; at != begin; at = rank_of(steps_[at].from_slot)) {
    tokens[static_cast<std::size_t>(steps_[at].from_slot)] -= amount;
    tokens[static_cast<std::size_t>(steps_[at].to_slot)] += amount;
  }
  loads_[begin] -= amount;
  loads_[end] += amount;
}

std::int64_t ExactSplit::mean_of_reached() const {
  std::int64_t sum = 0;
  for (const std::int32_t rank : open_) {
    sum += loads_[static_cast<std::size_t>(rank)];
  }
  return div_ceil(sum, static_cast<std::int64_t>(open_.size()));
}

}  // namespace eplb
