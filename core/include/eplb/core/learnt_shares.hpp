#pragma once

#include <vector>

#include "eplb/core/layer_shares.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/policy.hpp"

namespace eplb {

struct ShareLearning {
  /// How dear it is to leave the even split: shares that fit one load exactly fit the next one
  /// worse than even ones do. 0: not at all.
  double stiffness = 1.0;
};

/// Shares under which `load`, [experts], finite and not negative, falls evenly on the ranks: those
/// that minimise
///   sum over ranks of (rank load)^2
///     + stiffness x sum over experts, and ranks that hold them, of (tokens there - even tokens)^2,
/// found expert by expert (each one's best split is a filling of its ranks to a common level) until
/// a round changes no share by more than 2^-16. The same on every rank: order and sums are fixed.
[[nodiscard]] LayerShares learn_shares(const RealLoadRow& load, const LayerPlacement& placement,
                                       const ShareLearning& learning = {});

/// Shares of all layers of `placement`, from the newest part of the problem's history; even ones
/// where it has none.
[[nodiscard]] std::vector<LayerShares> learn_shares(const PolicyProblem& problem,
                                                    const Placement& placement,
                                                    const ShareLearning& learning = {});

}  // namespace eplb
