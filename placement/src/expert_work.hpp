#pragma once

#include "eplb/core/cost.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::placement {

/// What a copy of an expert costs the rank that holds it in a step, by the tokens that it is
/// expected to get: the layer's cost model, made linear at a rank with the mean of everything, so
/// that a rank's work is the sum over its copies. With few tokens it is the reading of the weights
/// that counts, of which a touched copy costs as much as a busy one (the METRO objective); with
/// many it is rows, each copy's rounded up to blocks; in between what takes longer counts more, as
/// it does in the model's smooth maximum.
class ExpertWork {
 public:
  /// `tokens_per_expert` is the mean over experts in a step, above 0.
  ExpertWork(const ExpertLayerCost& cost, const Shape& shape, double tokens_per_expert);

  /// Of a copy that gets `tokens` tokens in the mean, Poisson: ns of the mean rank's time.
  [[nodiscard]] double of(double tokens) const {
    return ns_per_touched_ * touched(tokens) + ns_per_padded_row_ * padded(tokens) +
           ns_per_token_ * tokens;
  }

 private:
  /// Share of steps in which a copy gets a token at all.
  [[nodiscard]] static double touched(double tokens);

  /// Rows in whole blocks, mean over steps: the first block where a copy is touched, each further
  /// one in the share of steps in which the tokens exceed those before it. Where the counts of
  /// steps spread over more than a block, half a block more than tokens.
  [[nodiscard]] double padded(double tokens) const;

  double block_rows_;
  double ns_per_touched_ = 0;
  double ns_per_padded_row_ = 0;
  double ns_per_token_ = 0;
};

/// Work in units of a mean rank's, of a copy's load in units of a mean rank's load.
class WorkScale {
 public:
  WorkScale(const ExpertWork& work, double tokens_per_unit, double unit_work)
      : work_(work), tokens_per_unit_(tokens_per_unit), unit_work_(unit_work) {}

  [[nodiscard]] double of(double load) const {
    return work_.of(load * tokens_per_unit_) / unit_work_;
  }

 private:
  ExpertWork work_;
  double tokens_per_unit_;
  double unit_work_;
};

}  // namespace eplb::placement
