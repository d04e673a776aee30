#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "eplb/core/placement.hpp"
#include "eplb/core/rank_load.hpp"

// Slow and plain answers, to hold the quick ones against.
namespace eplb::test {

/// Steps to the next row of digits in [least, most], first digit fastest; false after the last row.
[[nodiscard]] inline bool advance(std::vector<std::int32_t>& digits, std::int32_t least,
                                  std::int32_t most) {
  for (std::int32_t& digit : digits) {
    if (digit < most) {
      ++digit;
      return true;
    }
    digit = least;
  }
  return false;
}

/// Largest rank load of each layer's even split, [layers].
[[nodiscard]] inline std::vector<double> largest_rank_loads(const Placement& placement,
                                                            const RealLoadMatrix& load) {
  ReplicaShares shares = ReplicaShares::even();
  const RealLoadMatrix loads = rank_loads(placement, load, shares);
  std::vector<double> largest;
  for (Eigen::Index layer = 0; layer < loads.rows(); ++layer) {
    largest.push_back(loads.row(layer).maxCoeff());
  }
  return largest;
}

/// Least largest load of a replica over every way to give all slots to the experts, one at least.
[[nodiscard]] inline double least_largest_replica(std::span<const double> load,
                                                  std::int32_t slot_count) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> copies(load.size(), 1);
  do {
    std::int32_t given = 0;
    double largest = 0;
    for (std::size_t expert = 0; expert < load.size(); ++expert) {
      given += copies[expert];
      largest = std::max(largest, load[expert] / copies[expert]);
    }
    least = given == slot_count ? std::min(least, largest) : least;
  } while (advance(copies, 1, slot_count));
  return least;
}

/// Largest load(S) / ranks that hold any of S, over all sets S of experts: the value of the best
/// split, by the max-flow min-cut theorem.
[[nodiscard]] inline double best_split(std::span<const double> load,
                                       const LayerPlacement& placement) {
  double largest = 0;
  for (std::uint32_t set = 1; set < 1U << load.size(); ++set) {
    const auto in_set = [&](LogicalExpertId expert) {
      return expert != kNoExpert && ((set >> expert.index()) & 1U) == 1U;
    };
    double set_load = 0;
    for (std::int32_t expert = 0; expert < placement.expert_count(); ++expert) {
      set_load += in_set(LogicalExpertId{expert}) ? load[static_cast<std::size_t>(expert)] : 0;
    }
    std::int32_t holders = 0;
    for (std::int32_t rank = 0; rank < placement.rank_count(); ++rank) {
      holders += std::ranges::any_of(placement.on_rank(RankId{rank}), in_set) ? 1 : 0;
    }
    largest = std::max(largest, set_load / holders);
  }
  return largest;
}

}  // namespace eplb::test
