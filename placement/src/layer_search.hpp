#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scenarios.hpp"

namespace eplb::placement {

/// One layer to be placed. Ids of experts, ranks and slots are plain numbers inside the search.
struct LayerTask {
  std::size_t expert_count = 0;
  std::size_t rank_count = 0;
  std::size_t slots_per_rank = 0;   ///< Less than expert_count, so that no rank needs duplicates.
  std::span<const Scenarios> load;  ///< [experts], in units of a mean rank's load.
  std::vector<std::uint8_t> held_now;  ///< [ranks * experts]: what need not be moved there.
  double row_price = 0;                ///< What a moved row costs, as a share of the largest load.

  [[nodiscard]] std::size_t slot_count() const { return rank_count * slots_per_rank; }

  [[nodiscard]] bool holds_now(std::size_t rank, std::size_t expert) const {
    return held_now[rank * expert_count + expert] != 0;
  }
};

/// Local search over the placements of a layer in which no rank holds an expert twice.
///
/// The cost of a placement is the product over scenarios of a smooth maximum of rank loads (the
/// 64-norm), times (1 + row_price) a moved row and scenario: so a row is moved only if all
/// scenarios together get better by its price, and going back to where it is now refunds it. A step
/// is judged by products alone, so that every build gets the same bits.
class LayerSearch {
 public:
  /// `occupants` is [slots], every expert at least once, no rank twice; the task must outlive it.
  LayerSearch(const LayerTask& task, std::vector<std::size_t> occupants);

  /// Takes the best step there is for the hottest rank, or, where that has none, for the next of
  /// `hot_rank_count`, until none is left.
  void improve(std::size_t hot_rank_count);

  [[nodiscard]] std::span<const std::size_t> occupants() const { return occupants_; }

  [[nodiscard]] std::size_t moved_rows() const;

  /// Product over scenarios of the smooth maximum of rank loads; 1 is perfect.
  [[nodiscard]] double load_cost() const;

  /// load_cost with the price of moved rows.
  [[nodiscard]] double cost() const;

 private:
  enum class StepKind : std::uint8_t { kNone, kSwap, kRetarget };

  struct Step {
    StepKind kind = StepKind::kNone;
    double ratio = 1;  ///< Cost after / cost before.
    std::size_t slot = 0;
    std::size_t other = 0;  ///< The other slot of a swap, the new occupant of a retargeted slot.
  };

  [[nodiscard]] bool holds(std::size_t rank, std::size_t expert) const {
    return held_[rank * task_.expert_count + expert] != 0;
  }

  void set_held(std::size_t rank, std::size_t expert, bool held) {
    held_[rank * task_.expert_count + expert] = held ? 1 : 0;
  }

  /// Price factor where `incoming` takes the place of `outgoing` on a rank.
  [[nodiscard]] double price_ratio(std::size_t rank, std::size_t outgoing,
                                   std::size_t incoming) const;

  void share_out(std::size_t expert);  ///< Load of each of an expert's copies.
  void sum_up(std::size_t rank);       ///< A rank's load and its power.
  void sum_up_powers();                ///< Over ranks.
  void weigh_scenarios(std::size_t hot_rank);
  [[nodiscard]] std::vector<std::size_t> ranks_by_heat() const;
  void try_swaps(std::size_t hot_rank, Step& best) const;
  void try_swaps_between(std::size_t hot_rank, std::size_t rank, Step& best) const;
  void try_retargets(std::size_t hot_rank, Step& best) const;
  void try_retarget(std::size_t hot_rank, std::size_t slot, std::size_t expert, Step& best) const;
  [[nodiscard]] double retarget_ratio(std::size_t slot, std::size_t expert) const;
  void apply(const Step& step);
  void swap_slots(std::size_t slot, std::size_t other);
  void retarget(std::size_t slot, std::size_t expert);

  const LayerTask& task_;
  std::vector<std::size_t> occupants_;             ///< [slots]
  std::vector<std::uint8_t> held_;                 ///< [ranks * experts]
  std::vector<std::vector<std::size_t>> holders_;  ///< [experts], ranks in no order of meaning.
  std::vector<Scenarios> copy_load_;               ///< [experts]
  std::vector<Scenarios> rank_load_;               ///< [ranks]
  std::vector<Scenarios> rank_power_;              ///< [ranks]
  Scenarios power_sum_{};
  Scenarios inverse_power_sum_{};
  double row_ratio_ = 1;  ///< (1 + row_price) to the power of a step.

  // As the hottest rank weighs the scenarios: what sorts out steps before they are judged.
  std::vector<double> weighed_copy_;  ///< [experts]
  std::vector<double> weighed_rank_;  ///< [ranks]
};

}  // namespace eplb::placement
