#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "expert_work.hpp"
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
  const WorkScale* work = nullptr;     ///< What loads are turned into; none where they count.
  /// NVLink domain of each rank, [ranks], and the part of the ranks that each has, [domains]: of
  /// use where rows that leave theirs have a price.
  std::span<const std::size_t> domain_of_rank = {};
  std::span<const double> domain_parts = {};
  double leaving_price = 0;  ///< Of all rows leaving theirs, as a share of the largest load.
  double leaving_min = 0;    ///< least_leaving_share, where leaving has a price.
  /// Whether results of searches are compared by their hottest rank in place of the smooth maximum,
  /// which prefers one rank a little hotter to many that are hot.
  bool by_peak = false;

  [[nodiscard]] std::size_t slot_count() const { return rank_count * slots_per_rank; }

  /// Of each of an expert's copies, when there are so many: load, or work.
  [[nodiscard]] Scenarios copy_load(std::size_t expert, std::size_t copies) const {
    const double share = 1 / static_cast<double>(copies);
    Scenarios loads{};
    for (std::size_t scenario = 0; scenario < kScenarioCount; ++scenario) {
      loads[scenario] = load[expert][scenario] * share;
    }
    if (work != nullptr) {
      for (double& value : loads) {
        value = work->of(value);
      }
    }
    return loads;
  }

  [[nodiscard]] bool holds_now(std::size_t rank, std::size_t expert) const {
    return held_now[rank * expert_count + expert] != 0;
  }
};

/// No placement of the layer has a smaller share of rows that leave their domain.
[[nodiscard]] double least_leaving_share(const LayerTask& task);

/// Local search over the placements of a layer in which no rank holds an expert twice.
///
/// The cost of a placement is the product over scenarios of a smooth maximum of rank loads (the
/// 64-norm), times (1 + row_price) a moved row and scenario: so a row is moved only if all
/// scenarios together get better by its price, and going back to where it is now refunds it. A step
/// is judged by products alone, so that every build gets the same bits.
///
/// Where rows that leave their NVLink domain have a price, times (1 + leaving_price x the share of
/// the forecast's rows that leave because no copy of their expert is there) a scenario. Every rank
/// is taken to bring the same part of an expert's rows.
class LayerSearch {
 public:
  /// `occupants` is [slots], every expert at least once, no rank twice; the task must outlive it.
  LayerSearch(const LayerTask& task, std::vector<std::size_t> occupants);

  /// Takes the best step there is for the hottest rank, or, where that has none, for the next of
  /// `hot_rank_count`, until none is left.
  void improve(std::size_t hot_rank_count);

  /// Goes on at another price.
  void reprice(double row_price);

  /// Takes moved rows back where they are now while that lowers the cost: what a search at a lower
  /// price has moved for too little.
  void give_back();

  /// Brings copies into domains that have none of their experts, by exchanges and by giving spare
  /// slots to other experts, while that lowers the cost: steps that the hottest ranks have no part
  /// in. Nothing where leaving has no price.
  void bring_near();

  [[nodiscard]] std::span<const std::size_t> occupants() const { return occupants_; }

  [[nodiscard]] std::size_t moved_rows() const;

  /// Product over scenarios of the smooth maximum of rank loads, with the price of rows that leave;
  /// without any 1 is perfect.
  [[nodiscard]] double load_cost() const;

  /// The same of the hottest rank's load.
  [[nodiscard]] double peak_cost() const;

  /// load_cost, or peak_cost where the task asks for it, with the price of moved rows.
  [[nodiscard]] double cost() const;

 private:
  static constexpr int kStepRowsMax = 2;

  /// Steps that gain less would only follow rounding.
  static constexpr double kLeastGain = 1e-7;

  /// A step whose best case is not better than the best known one by more than this is not looked
  /// at: of a cost to the power of the norm and the scenarios, so next to nothing.
  static constexpr double kWorthALook = 0.999;

  enum class StepKind : std::uint8_t { kNone, kSwap, kRetarget };

  struct Step {
    StepKind kind = StepKind::kNone;
    double ratio = 1;  ///< Cost after / cost before.
    std::size_t slot = 0;
    std::size_t other = 0;  ///< The other slot of a swap, the new occupant of a retargeted slot.
  };

  [[nodiscard]] bool holds(std::size_t rank, std::size_t expert) const {
    return held_[rank * task_->expert_count + expert] != 0;
  }

  void set_held(std::size_t rank, std::size_t expert, bool held) {
    held_[rank * task_->expert_count + expert] = held ? 1 : 0;
  }

  /// Two ranks that may exchange experts.
  struct PairTask {
    std::size_t rank = 0;    ///< Beside the hot one.
    Scenarios others{};      ///< Powers of all other ranks.
    double level_ratio = 1;  ///< Cost after / before if both were level afterwards, without prices.
    double least_ratio = 1;  ///< The same with the best that a step can do for rows that leave.
  };

  /// Rows that an expert's way from a rank to another costs: 1, or less where one of them holds it
  /// now.
  [[nodiscard]] int rows_of_going(std::size_t expert, std::size_t from, std::size_t to) const;

  /// Rows that `coming` costs in the place of `leaving` on a rank.
  [[nodiscard]] int rows_of_retarget(std::size_t rank, std::size_t leaving,
                                     std::size_t coming) const;

  /// Price factor of a step that moves so many rows more than before, from -2 to 2.
  [[nodiscard]] double price_of(int rows) const {
    const int place = rows + kStepRowsMax;
    return prices_[static_cast<std::size_t>(place)];
  }

  /// Whether a step of no less than `least_ratio` before its price can be worth a look.
  [[nodiscard]] bool may_beat(double least_ratio, int rows, const Step& best) const {
    return least_ratio * price_of(rows) < best.ratio * kWorthALook;
  }

  [[nodiscard]] bool minds_leaving() const { return task_->leaving_price > 0; }

  [[nodiscard]] std::size_t domain_of(std::size_t rank) const {
    return task_->domain_of_rank[rank];
  }

  [[nodiscard]] std::uint32_t& near_copies(std::size_t expert, std::size_t domain) {
    return near_copies_[expert * task_->domain_parts.size() + domain];
  }

  [[nodiscard]] std::uint32_t near_copies(std::size_t expert, std::size_t domain) const {
    return near_copies_[expert * task_->domain_parts.size() + domain];
  }

  // By how much the share of rows that leave changes: where a rank gains or loses a copy, or one
  // goes from a rank to another. 0 where leaving has no price.
  [[nodiscard]] double leaving_of_coming(std::size_t expert, std::size_t rank) const;
  [[nodiscard]] double leaving_of_parting(std::size_t expert, std::size_t rank) const;
  [[nodiscard]] double leaving_of_going(std::size_t expert, std::size_t from, std::size_t to) const;
  [[nodiscard]] double leaving_of_retarget(std::size_t slot, std::size_t expert) const;

  /// The least of leaving_of_going over the experts of a rank.
  [[nodiscard]] double least_leaving(std::size_t from, std::size_t to) const;

  /// Factor of a step that changes the share of rows that leave by so much.
  [[nodiscard]] double leaving_ratio(double change) const;

  void count_near_copies();
  void try_missed(std::size_t slot, Step& best) const;
  void try_bringing(std::size_t slot, Step& best) const;
  void try_swaps_into(std::size_t slot, std::size_t rank, Step& best) const;
  [[nodiscard]] std::vector<std::size_t> most_missed(std::size_t domain) const;

  [[nodiscard]] double leaving_cost() const;
  void share_out(std::size_t expert);  ///< Load of each of an expert's copies.
  void sum_up(std::size_t rank);       ///< A rank's load and its power.
  void sum_up_powers();                ///< Over ranks.
  void weigh_scenarios(std::size_t hot_rank);
  [[nodiscard]] std::vector<std::size_t> ranks_by_heat() const;
  void try_swaps(std::size_t hot_rank, Step& best);
  [[nodiscard]] PairTask pair_task(std::size_t hot_rank, std::size_t rank) const;
  void try_swaps_between(std::size_t hot_rank, const PairTask& pair, Step& best);
  void try_retargets(std::size_t hot_rank, Step& best) const;
  [[nodiscard]] bool can_spare(std::size_t slot, std::size_t hot_rank) const;
  [[nodiscard]] double least_ratio_of_copying(std::size_t expert, std::size_t hot_rank) const;
  void try_retarget(std::size_t hot_rank, std::size_t slot, std::size_t expert, Step& best) const;
  [[nodiscard]] double retarget_ratio(std::size_t slot, std::size_t expert) const;
  void try_giving_back(std::size_t slot, Step& best) const;
  [[nodiscard]] double swap_ratio(std::size_t slot, std::size_t other) const;
  void apply(const Step& step);
  void swap_slots(std::size_t slot, std::size_t other);
  void retarget(std::size_t slot, std::size_t expert);

  const LayerTask* task_;                          ///< Not null.
  std::vector<std::size_t> occupants_;             ///< [slots]
  std::vector<std::uint8_t> held_;                 ///< [ranks * experts]
  std::vector<std::vector<std::size_t>> holders_;  ///< [experts], ranks in no order of meaning.
  std::vector<Scenarios> copy_load_;               ///< [experts]
  std::vector<Scenarios> rank_load_;               ///< [ranks]
  std::vector<Scenarios> rank_power_;              ///< [ranks]
  Scenarios power_sum_{};
  Scenarios inverse_power_sum_{};
  double row_price_ = 0;
  std::array<double, 2 * kStepRowsMax + 1> prices_{};  ///< Of -kStepRowsMax rows and up.

  std::vector<PairTask> pairs_;      ///< [ranks], of the hot rank that is looked at.
  std::vector<int> rows_of_coming_;  ///< [slots a rank], of the pair that is looked at.

  // Where leaving has a price; else empty.
  std::vector<std::uint32_t> near_copies_;  ///< [experts * domains]
  std::vector<double> row_part_;            ///< [experts]: of all rows.
  double leaving_ = 0;

  // As the hottest rank weighs the scenarios: what sorts out steps before they are judged.
  std::vector<double> weighed_copy_;  ///< [experts]
  std::vector<double> weighed_rank_;  ///< [ranks]
};

}  // namespace eplb::placement
