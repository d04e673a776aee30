#include "expert_work.hpp"

#include <algorithm>
#include <cmath>

#include "rank_norm.hpp"

namespace eplb::placement {
namespace {

double seventh_power(double value) {
  const double square = value * value;
  return square * square * square * value;
}

double eighth_power(double value) {
  return seventh_power(value) * value;
}

double eighth_root(double value) {
  return std::sqrt(std::sqrt(std::sqrt(value)));
}

/// Deviations over which a normal distribution's share below a point goes from none to all, if it
/// did so by a smooth step of the same slope in its middle: 1.5 sqrt(2 pi).
constexpr double kStepDeviations = 3.76;

/// From 0 at or below 0 to 1 at or above 1, by products alone.
double smooth_step(double value) {
  const double within = std::clamp(value, 0.0, 1.0);
  return within * within * (3 - 2 * within);
}

}  // namespace

ExpertWork::ExpertWork(const ExpertLayerCost& cost, const Shape& shape, double tokens_per_expert)
    // The kernel knows slots, not experts.
    : block_rows_(block_rows_for(tokens_per_expert * shape.expert_count / shape.slot_count())) {
  const double experts = static_cast<double>(shape.expert_count) / shape.rank_count;
  const double weights = cost.ns_per_touched_expert * touched(tokens_per_expert) * experts;
  const double arithmetic = cost.ns_per_padded_row * padded(tokens_per_expert) * experts;
  const double wire =
      (cost.ns_per_dispatched_row + cost.ns_per_combined_row) * tokens_per_expert * experts;
  const double longest = std::max({weights, arithmetic, wire});
  // How much of a part's growth the smooth maximum grows by.
  const auto weight_of = [&](double part) {
    if (longest <= 0) {
      return 0.0;
    }
    const double norm =
        eighth_root(eighth_power(weights / longest) + eighth_power(arithmetic / longest) +
                    eighth_power(wire / longest));
    return seventh_power(part / longest / norm);
  };
  ns_per_touched_ = weight_of(weights) * cost.ns_per_touched_expert;
  ns_per_padded_row_ = weight_of(arithmetic) * cost.ns_per_padded_row;
  // A busier rank takes in more than it sends, so its port's busier direction is the dearer one.
  ns_per_token_ = weight_of(wire) * std::max(cost.ns_per_dispatched_row, cost.ns_per_combined_row) +
                  cost.ns_per_assignment;
}

double ExpertWork::touched(double tokens) {
  // 1 - e^-tokens, by products alone.
  return 1 - norm_power(std::max(0.0, 1 - tokens / kNormExponent));
}

double ExpertWork::padded(double tokens) const {
  const double spread = kStepDeviations * std::sqrt(std::max(tokens, 0.0));
  if (spread >= block_rows_) {
    return tokens + block_rows_ / 2;
  }
  // Steps end before the next begins, so that no more than two boundaries are near enough to count.
  const double whole = std::floor(tokens / block_rows_);
  const auto exceeds = [&](double blocks) {
    return smooth_step((tokens - blocks * block_rows_) / spread + 0.5);
  };
  double blocks = touched(tokens) + exceeds(whole + 1);
  if (whole >= 1) {
    blocks += whole - 1 + exceeds(whole);
  }
  return block_rows_ * blocks;
}

}  // namespace eplb::placement
