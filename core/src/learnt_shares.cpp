#include "eplb/core/learnt_shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/assert.hpp"
#include "eplb/core/layer_map.hpp"

namespace eplb {
namespace {

constexpr int kRoundsMax = 64;
constexpr double kShareTolerance = 1.0 / (1 << 16);

/// An expert's copies on one rank.
struct Holder {
  std::size_t rank;
  double even;   ///< Its part under the even split.
  double share;  ///< Its part now.
  double height = 0;
};

/// An expert that several ranks hold.
struct SplitExpert {
  std::int32_t expert;
  double load;
  std::vector<Holder> holders;
};

class Filling {
 public:
  Filling(const RealLoadRow& load, const LayerPlacement& placement, double stiffness)
      : stiffness_(stiffness),
        map_(LayerMap::from(placement)),
        slots_per_rank_(placement.slots_per_rank()),
        rank_loads_(static_cast<std::size_t>(placement.rank_count()), 0.0) {
    for (std::int32_t index = 0; index < placement.expert_count(); ++index) {
      add_expert(index, load(index));
    }
  }

  /// The largest change of a share.
  double fill_round() {
    double change = 0;
    for (SplitExpert& expert : experts_) {
      change = std::max(change, fill(expert));
    }
    return change;
  }

  /// Weights of slots, [slots].
  [[nodiscard]] std::vector<double> slot_weights(std::int32_t slot_count) const {
    std::vector<double> weights(static_cast<std::size_t>(slot_count), 0.0);
    for (const SplitExpert& expert : experts_) {
      const auto slots = map_.slots(LogicalExpertId{expert.expert});
      const auto copies = static_cast<double>(slots.size());
      for (const std::int32_t slot : slots) {
        const auto holder = std::ranges::find(expert.holders, rank_of(slot), &Holder::rank);
        weights[static_cast<std::size_t>(slot)] = holder->share / (holder->even * copies);
      }
    }
    return weights;
  }

 private:
  [[nodiscard]] std::size_t rank_of(std::int32_t slot) const {
    return static_cast<std::size_t>(slot / slots_per_rank_);
  }

  void add_expert(std::int32_t index, double load) {
    SplitExpert expert{.expert = index, .load = load, .holders = {}};
    const auto slots = map_.slots(LogicalExpertId{index});
    for (const std::int32_t slot : slots) {
      const double part = 1.0 / static_cast<double>(slots.size());
      rank_loads_[rank_of(slot)] += load * part;
      if (!expert.holders.empty() && expert.holders.back().rank == rank_of(slot)) {
        expert.holders.back().even += part;
        expert.holders.back().share += part;
      } else {
        expert.holders.push_back({.rank = rank_of(slot), .even = part, .share = part});
      }
    }
    if (expert.holders.size() > 1 && load > 0) {
      experts_.push_back(std::move(expert));
    }
  }

  /// The expert's best split, the others' as they are. Where it has tokens t, the derivative of the
  /// objective is the same, (others' load + t) + stiffness x (t - even): a level that holders are
  /// filled up to from others' load - stiffness x even, lowest first.
  double fill(SplitExpert& expert) {
    for (Holder& holder : expert.holders) {
      double& rank_load = rank_loads_[holder.rank];
      rank_load -= holder.share * expert.load;
      holder.height = rank_load - stiffness_ * holder.even * expert.load;
    }
    std::ranges::stable_sort(expert.holders, {}, &Holder::height);
    double level = 0;
    double heights = 0;
    const double volume = (1 + stiffness_) * expert.load;
    for (std::size_t count = 1; count <= expert.holders.size(); ++count) {
      heights += expert.holders[count - 1].height;
      level = (volume + heights) / static_cast<double>(count);
      if (count == expert.holders.size() || level <= expert.holders[count].height) {
        break;
      }
    }
    double change = 0;
    for (Holder& holder : expert.holders) {
      const double share = std::max(level - holder.height, 0.0) / volume;
      change = std::max(change, std::abs(share - holder.share));
      holder.share = share;
      rank_loads_[holder.rank] += share * expert.load;
    }
    return change;
  }

  double stiffness_;
  LayerMap map_;
  std::int32_t slots_per_rank_;
  std::vector<double> rank_loads_;
  std::vector<SplitExpert> experts_;
};

}  // namespace

LayerShares learn_shares(const RealLoadRow& load, const LayerPlacement& placement,
                         const ShareLearning& learning) {
  EPLB_ASSERT_OP(load.size(), ==, placement.expert_count());
  Filling filling(load, placement, learning.stiffness);
  for (int round = 0; round < kRoundsMax; ++round) {
    if (filling.fill_round() <= kShareTolerance) {
      break;
    }
  }
  return LayerShares::nearest(placement, filling.slot_weights(placement.slot_count()));
}

std::vector<LayerShares> learn_shares(const PolicyProblem& problem, const Placement& placement,
                                      const ShareLearning& learning) {
  std::vector<LayerShares> shares;
  shares.reserve(placement.layers().size());
  for (const LayerPlacement& layer : placement.layers()) {
    const auto index = static_cast<Eigen::Index>(shares.size());
    shares.push_back(problem.history.empty()
                         ? LayerShares::even(layer)
                         : learn_shares(problem.history.back().row(index), layer, learning));
  }
  return shares;
}

}  // namespace eplb
