#include "search_statistics.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <vector>

namespace eplb::cli {
namespace {

std::optional<double> probability_above_zero(const Gain& difference, std::size_t sample_count) {
  if (!difference.standard_error.has_value()) {
    return std::nullopt;
  }
  if (*difference.standard_error == 0) {
    return difference.mean == 0 ? 0.5 : (difference.mean > 0 ? 1.0 : 0.0);
  }
  const boost::math::students_t distribution(static_cast<double>(sample_count - 1));
  return boost::math::cdf(distribution, difference.mean / *difference.standard_error);
}

}  // namespace

Advantage advantage_of(const placement::Samples& base, const placement::Samples& samples,
                       std::size_t index, placement::SearchObjective objective) {
  const double sign = placement::more_is_better(objective) ? 1 : -1;
  std::vector<double> differences;
  std::vector<double> shares;
  double sum = 0;
  bool has_shares = true;
  for (std::size_t seed = 0; seed < samples.size(); ++seed) {
    const double own = samples[seed][index];
    const double other = base[seed][index];
    sum += own;
    differences.push_back(sign * (own - other));
    shares.push_back(differences.back() / other);
    has_shares = has_shares && other != 0;
  }
  return {.mean = sum / static_cast<double>(samples.size()),
          .gain = has_shares ? std::optional(gain_of(shares)) : std::nullopt,
          .better = probability_above_zero(gain_of(differences), samples.size())};
}

}  // namespace eplb::cli
