#include "load_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace eplb {
namespace {

/// The parts in which the layer had any load, as shares, and how many tokens each is a sum of.
struct PastShares {
  std::vector<ShareRow> shares;
  std::vector<double> tokens;

  [[nodiscard]] std::size_t size() const { return shares.size(); }

  /// Mean of the `count` parts before part `end`.
  [[nodiscard]] ShareRow mean_before(std::size_t end, std::size_t count) const {
    ShareRow sum = shares[end - count];
    for (std::size_t part = end - count + 1; part < end; ++part) {
      sum += shares[part];
    }
    return sum / static_cast<double>(count);
  }
};

PastShares past_shares(std::span<const RealLoadMatrix> history, Eigen::Index layer) {
  PastShares past;
  for (const RealLoadMatrix& part : history) {
    if (const double tokens = part.row(layer).sum(); tokens > 0) {
      past.shares.emplace_back(part.row(layer) / tokens);
      past.tokens.push_back(tokens);
    }
  }
  return past;
}

/// How the mean of `count` parts has foretold each part that had as many before it.
struct PastForecasts {
  std::vector<ShareRow> errors = {};
  double squared = std::numeric_limits<double>::infinity();  ///< Mean, without sampling noise.
};

PastForecasts past_forecasts(const PastShares& past, std::size_t count) {
  PastForecasts forecasts{.squared = 0};
  double with_noise = 0;
  const auto told = static_cast<double>(past.size() - count);
  for (std::size_t part = past.size(); part-- > count;) {
    const ShareRow error = past.shares[part] - past.mean_before(part, count);
    const double noise = (1 - past.shares[part].squaredNorm()) / past.tokens[part];
    with_noise += error.squaredNorm() / told;
    forecasts.squared += (error.squaredNorm() - noise) / told;
    forecasts.errors.push_back(error);
  }
  forecasts.squared = std::max(forecasts.squared, 0.0);
  const double kept = with_noise > 0 ? std::sqrt(forecasts.squared / with_noise) : 0;
  for (ShareRow& error : forecasts.errors) {
    error *= kept;
  }
  return forecasts;
}

}  // namespace

LayerForecast forecast_layer(std::span<const RealLoadMatrix> history, Eigen::Index layer) {
  const PastShares past = past_shares(history, layer);
  if (past.size() == 0) {
    return {.shares = ShareRow::Zero(history.empty() ? 0 : history.front().cols()), .errors = {}};
  }
  std::size_t best_count = past.size();  // One part has nothing to be compared with.
  PastForecasts best;
  for (std::size_t count = 1; count < past.size(); count *= 2) {
    if (PastForecasts forecasts = past_forecasts(past, count); forecasts.squared <= best.squared) {
      best_count = count;
      best = std::move(forecasts);
    }
  }
  return {.shares = past.mean_before(past.size(), best_count), .errors = std::move(best.errors)};
}

}  // namespace eplb
