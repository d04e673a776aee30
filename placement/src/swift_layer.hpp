#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/placement.hpp"

namespace eplb::placement {

/// What each of an expert's copies is taken to get.
enum class SwiftShares : std::uint8_t {
  kPublished,  ///< 2 / (copies + 1) of its load, as the published program has it; too much.
  kEven        ///< 1 / copies.
};

/// Plans one layer as the Swift balancer does. Experts, ranks and slots are plain numbers inside.
class SwiftLayer {
 public:
  /// `load` is [experts]; both must outlive the object.
  SwiftLayer(const LayerPlacement& serving, std::span<const double> load, SwiftShares shares);

  /// Occupants of the slots, [slots]: what serves, or what is better by the policy's own count.
  [[nodiscard]] std::vector<LogicalExpertId> plan();

 private:
  struct Exchange {
    std::size_t slot = 0;   ///< Of the hottest rank.
    std::size_t other = 0;  ///< Of the other one.
    double hotter = 0;      ///< Load of the hotter of the two afterwards.
  };

  [[nodiscard]] bool holds(std::size_t rank, std::size_t expert) const;
  /// Loads of copies and ranks from the copies that there are.
  void share_out(SwiftShares shares);
  void sum_up_ranks();
  [[nodiscard]] std::size_t last_open_slot(std::size_t rank) const;
  [[nodiscard]] double largest_rank_load() const;
  void take_spares_out();
  [[nodiscard]] std::vector<std::size_t> spares_to_give() const;
  void give_spares();
  void fill_open_slots();
  void put(std::size_t slot, std::size_t expert);
  [[nodiscard]] bool may_exchange(std::size_t rank, std::size_t other) const;
  [[nodiscard]] Exchange best_exchange(std::size_t hottest, std::size_t other) const;
  bool exchange_with_coolest();
  void exchange(const Exchange& step);

  const LayerPlacement& serving_;
  std::span<const double> load_;
  SwiftShares shares_;
  std::size_t rank_count_;
  std::size_t slots_per_rank_;
  std::vector<std::size_t> occupants_;  ///< [slots]; the number of experts where a slot is open.
  std::vector<std::uint8_t> came_;      ///< [slots]: whether the occupant came in this plan.
  std::vector<std::size_t> home_;       ///< [experts]: the rank that sends its copies.
  std::vector<std::uint8_t> sent_;      ///< [ranks * ranks], from and to.
  std::vector<double> copy_load_;       ///< [experts]
  std::vector<double> rank_load_;       ///< [ranks]
};

}  // namespace eplb::placement
