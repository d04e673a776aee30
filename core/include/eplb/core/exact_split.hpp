#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/layer_map.hpp"

namespace eplb {

/// Deals one layer's tokens to its slots so that the busiest rank has as few as any split over the
/// replicas allows, in whole tokens: what a dispatch could do that knew the counts of all ranks.
///
/// A maximum flow from an even split: tokens go from ranks above a limit to the nearest ranks below
/// it, along chains of experts that neighbouring ranks both hold (Edmonds and Karp). Where no chain
/// is left, the ranks that the overloaded ones reach hold all copies of all their experts, so their
/// mean is a lower bound, and the next limit. It stays as near to the even split as the chains do.
class ExactSplit {
 public:
  struct Options {
    std::int32_t rank_count = 1;
    std::int32_t slots_per_rank = 1;
  };

  explicit ExactSplit(const Options& options);

  /// Fills `tokens_per_slot`, [slots], from `counts`, [experts], not negative and with a sum below
  /// 2^62. Gives the largest rank load, in tokens, the least possible.
  std::int64_t deal(std::span<const std::int64_t> counts, const LayerMap& map,
                    std::span<std::int64_t> tokens_per_slot);

 private:
  /// A slot whose expert has others.
  struct SharedSlot {
    std::int32_t slot;
    std::int32_t expert;  ///< Its place in siblings_.
  };

  /// How a search came to a rank: tokens of one expert, from a slot elsewhere to one here.
  struct Step {
    std::int32_t from_slot = -1;
    std::int32_t to_slot = -1;
  };

  [[nodiscard]] std::size_t rank_of(std::int32_t slot) const {
    return static_cast<std::size_t>(slot / options_.slots_per_rank);
  }

  void deal_evenly(std::span<const std::int64_t> counts, const LayerMap& map,
                   std::span<std::int64_t> tokens_per_slot);
  /// A rank below the limit that some rank above it reaches by the fewest steps; -1 if none does.
  [[nodiscard]] std::int32_t search(std::int64_t limit, std::span<const std::int64_t> tokens);
  void shift(std::int32_t rank, std::int64_t limit, std::span<std::int64_t> tokens);
  [[nodiscard]] std::int64_t mean_of_reached() const;  ///< Rounded up.

  Options options_;
  std::vector<std::int64_t> loads_;                      ///< Of ranks.
  std::vector<std::span<const std::int32_t>> siblings_;  ///< Slots of each such expert.
  std::vector<std::vector<SharedSlot>> shared_slots_;    ///< By rank.
  std::vector<bool> reached_;
  std::vector<Step> steps_;  ///< By rank.
  std::vector<std::int32_t> open_;
};

}  // namespace eplb
