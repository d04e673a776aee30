// Goal: counts that follow from a rule are those of the benchmark that the measured tables are
// from. Method: small cases counted by hand, the stated rule walked token by token, sums and
// bounds.
#include "eplb/sim/calibration/routing_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace eplb::sim {
namespace {

using Counts = std::vector<std::int64_t>;

/// The rule as it is stated, without a shortcut.
Counts walked(const RoutedTokens& routed) {
  const std::int64_t stride = (routed.experts + routed.top_k - 1) / routed.top_k;
  Counts counts(static_cast<std::size_t>(routed.experts), 0);
  for (std::int64_t token = 0; token < routed.tokens; ++token) {
    const std::int64_t first = routed.tokens >= stride ? token : token * stride / routed.tokens;
    for (std::int64_t k = 0; k < routed.top_k; ++k) {
      ++counts[static_cast<std::size_t>((first + k * stride) % routed.experts)];
    }
  }
  return counts;
}

TEST_CASE("balanced counts of few tokens are spread over the stride") {
  CHECK(balanced_counts({.experts = 6, .top_k = 2, .tokens = 1}) == Counts{1, 0, 0, 1, 0, 0});
  CHECK(balanced_counts({.experts = 6, .top_k = 2, .tokens = 2}) == Counts{1, 1, 0, 1, 1, 0});
  CHECK(balanced_counts({.experts = 6, .top_k = 2, .tokens = 3}) == Counts{1, 1, 1, 1, 1, 1});
}

TEST_CASE("balanced counts follow their rule, whatever the number of tokens") {
  for (const std::int64_t tokens : {1, 5, 63, 64, 65, 383, 384, 385, 1000, 4096}) {
    CAPTURE(tokens);
    const RoutedTokens routed{.experts = 384, .top_k = 6, .tokens = tokens};
    CHECK(balanced_counts(routed) == walked(routed));
  }
  // Experts that top_k does not divide.
  const RoutedTokens odd{.experts = 10, .top_k = 3, .tokens = 57};
  CHECK(balanced_counts(odd) == walked(odd));
}

TEST_CASE("sampled counts are skewed, sum up and give no token an expert twice") {
  const RoutedTokens routed{.experts = 64, .top_k = 4, .tokens = 1500};
  const Counts counts = sampled_power_law_counts(routed, 1.9, 7);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 4 * 1500);
  CHECK(std::ranges::max(counts) <= 1500);
  CHECK(std::ranges::max(counts) > 3 * 4 * 1500 / 64);
  CHECK(counts == sampled_power_law_counts(routed, 1.9, 7));
  CHECK(counts != sampled_power_law_counts(routed, 1.9, 8));
}

TEST_CASE("more tokens than are drawn are scaled up") {
  const RoutedTokens routed{.experts = 16, .top_k = 2, .tokens = 20'000};
  const Counts counts = sampled_power_law_counts(routed, 1.9, 7);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 2 * 20'000);
}

}  // namespace
}  // namespace eplb::sim
