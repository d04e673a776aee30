#include "eplb/sim/calibration/routing_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {

std::vector<std::int64_t> balanced_counts(const RoutedTokens& routed) {
  const std::int64_t stride = (routed.experts + routed.top_k - 1) / routed.top_k;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(routed.experts), 0);
  // Whole rounds over the stride's tokens are alike, so only the rest is walked.
  const std::int64_t rounds = routed.tokens >= stride ? routed.tokens / routed.experts : 0;
  const std::int64_t walked = routed.tokens - rounds * routed.experts;
  for (std::int64_t& count : counts) {
    count = rounds * routed.top_k;
  }
  for (std::int64_t token = 0; token < walked; ++token) {
    const std::int64_t first = routed.tokens >= stride ? token : token * stride / routed.tokens;
    for (std::int64_t k = 0; k < routed.top_k; ++k) {
      ++counts[static_cast<std::size_t>((first + k * stride) % routed.experts)];
    }
  }
  return counts;
}

std::vector<std::int64_t> sampled_power_law_counts(const RoutedTokens& routed, double exponent,
                                                   std::uint64_t seed) {
  constexpr double kWeightMax = 1024;
  constexpr std::int64_t kDrawnMax = 2000;
  RandomStream random(seed, "sampled counts");
  const auto experts = static_cast<std::size_t>(routed.experts);
  std::vector<double> weights(experts);
  for (double& weight : weights) {
    const double tail = std::pow(kWeightMax, 1 - exponent) - 1;
    weight = std::pow(1 + random.uniform() * tail, 1 / (1 - exponent));
  }
  std::vector<std::int64_t> counts(experts, 0);
  const std::int64_t drawn = std::min(routed.tokens, kDrawnMax);
  std::vector<double> arrivals(experts);
  std::vector<std::size_t> order(experts);
  for (std::int64_t token = 0; token < drawn; ++token) {
    // The first top_k of exponential races are a weighted draw without replacement.
    for (std::size_t expert = 0; expert < experts; ++expert) {
      arrivals[expert] = -std::log1p(-random.uniform()) / weights[expert];
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::nth_element(order, order.begin() + routed.top_k - 1, {},
                             [&](std::size_t expert) { return arrivals[expert]; });
    for (std::int32_t k = 0; k < routed.top_k; ++k) {
      ++counts[order[static_cast<std::size_t>(k)]];
    }
  }
  for (std::int64_t& count : counts) {
    count = count * routed.tokens / drawn;
  }
  return counts;
}

}  // namespace eplb::sim
