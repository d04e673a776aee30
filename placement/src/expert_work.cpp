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

}  // namespace

ExpertWork::ExpertWork(const ExpertLayerCost& cost, const Shape& shape, double tokens_per_expert)
    : block_rows_(block_rows_for(tokens_per_expert)) {
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
  return block_rows_ * touched(tokens) + std::max(0.0, tokens - block_rows_ / 2);
}

}  // namespace eplb::placement
