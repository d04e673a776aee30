#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/cost.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/placement.hpp"

namespace eplb {

/// What a forward is expected to bring to a layer.
struct ExpectedTokens {
  LayerId layer;
  std::span<const double> by_expert;  ///< Of the whole group, [experts].
  /// What the group may bring more, each as likely as as much less, each [experts].
  std::span<const Eigen::RowVectorXd> doubts = {};
};

/// Mean time of a layer over a few forwards that are drawn. A layer ends with its busiest rank, and
/// noise makes one rank the busiest even where all expect the same: a placement gains less than
/// expected loads alone tell.
///
/// NOTE [common draws]: a draw is a table's entry, found by a hash of layer, expert and replica, so
/// that two placements of one load meet the same luck, and every rank of a group and every machine
/// the same bits: only integers, products and square roots.
class ExpectedLayerTime {
 public:
  explicit ExpectedLayerTime(const ExpertLayerCost& cost) : cost_(cost) {}

  /// In ns. Replicas of an expert share its tokens evenly.
  [[nodiscard]] double ns(const LayerPlacement& placement, const ExpectedTokens& tokens);

 private:
  void draw(const LayerPlacement& placement, const ExpectedTokens& tokens, std::uint32_t draw);
  [[nodiscard]] double slowest_rank_ns(const LayerPlacement& placement, double picks) const;

  ExpertLayerCost cost_;
  // Of the placement at hand:
  std::vector<std::int32_t> replica_counts_;   ///< [experts].
  std::vector<std::uint32_t> next_replica_;    ///< [experts].
  std::vector<std::int64_t> tokens_per_slot_;  ///< [slots], of the draw at hand.
};

}  // namespace eplb
