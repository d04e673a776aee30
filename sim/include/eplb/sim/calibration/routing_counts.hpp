#pragma once

#include <cstdint>
#include <vector>

namespace eplb::sim {

/// What a table's rows are drawn from: tokens of the whole group over a layer's experts.
struct RoutedTokens {
  std::int32_t experts = 1;
  std::int32_t top_k = 1;
  std::int64_t tokens = 1;
};

/// Tokens of each expert where token i picks (i + k stride) mod experts for k < top_k, stride
/// ceil(experts / top_k); with fewer tokens than the stride they are spread over it: the balanced
/// routing of ai-dynamo/aiconfigurator's kernel benchmarks.
[[nodiscard]] std::vector<std::int64_t> balanced_counts(const RoutedTokens& routed);

/// Tokens of each expert where experts have the weights of a power law on [1, 1024], by inverse
/// transform, and a token picks top_k of them without replacement. Tokens beyond 2,000 are drawn as
/// 2,000 and scaled up.
[[nodiscard]] std::vector<std::int64_t> sampled_power_law_counts(const RoutedTokens& routed,
                                                                 double exponent,
                                                                 std::uint64_t seed);

}  // namespace eplb::sim
