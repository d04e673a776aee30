#include "eplb/sim/calibration/measured_layer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "eplb/core/assert.hpp"
#include "eplb/sim/machine.hpp"

namespace eplb::sim {

std::vector<ExpertLayerFeatures> features_by_rank(std::span<const std::int64_t> counts,
                                                  std::int32_t ranks,
                                                  std::int64_t sent_rows_per_rank) {
  EPLB_ASSERT_OP(ranks, >=, 1);
  EPLB_ASSERT_OP(counts.size() % static_cast<std::size_t>(ranks), ==, 0);
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int32_t block_rows =
      block_rows_for(static_cast<double>(sum) / static_cast<double>(counts.size()));
  const std::size_t per_rank = counts.size() / static_cast<std::size_t>(ranks);
  std::vector<ExpertLayerFeatures> features;
  features.reserve(static_cast<std::size_t>(ranks));
  for (std::size_t first = 0; first < counts.size(); first += per_rank) {
    features.push_back(features_of(counts.subspan(first, per_rank), block_rows));
    features.back().sent_rows = sent_rows_per_rank;
  }
  const auto key = [](const ExpertLayerFeatures& one) {
    return std::tuple(one.touched_experts, one.assignments, one.padded_rows);
  };
  std::ranges::sort(features, {}, key);
  features.erase(
      std::unique(features.begin(), features.end(),
                  [&](const auto& left, const auto& right) { return key(left) == key(right); }),
      features.end());
  return features;
}

double predicted_us(const MeasuredLayer& layer, const HardwareOptions& hardware) {
  const ParallelOptions parallel{.ranks = layer.ranks, .ranks_per_node = hardware.gpus_per_node};
  const ExpertLayerCost cost = expert_layer_cost(layer.model, hardware, parallel);
  double slowest_ns = 0;
  for (const ExpertLayerFeatures& features : layer.busiest) {
    slowest_ns = std::max(slowest_ns, expert_layer_ns(cost, features));
  }
  return slowest_ns * 1e-3;
}

PredictionErrors summary_of(std::span<const double> errors) {
  PredictionErrors summary{.rows = static_cast<std::int64_t>(errors.size())};
  for (const double error : errors) {
    summary.mean_absolute += std::abs(error);
    summary.bias += error;
    summary.worst = std::abs(error) > std::abs(summary.worst) ? error : summary.worst;
  }
  const auto rows = static_cast<double>(std::max<std::int64_t>(summary.rows, 1));
  summary.mean_absolute /= rows;
  summary.bias /= rows;
  return summary;
}

PredictionErrors errors_of(std::span<const MeasuredLayer> layers, const HardwareOptions& hardware) {
  std::vector<double> errors;
  errors.reserve(layers.size());
  for (const MeasuredLayer& layer : layers) {
    if (!layer.busiest.empty()) {
      errors.push_back(predicted_us(layer, hardware) / layer.measured_us - 1);
    }
  }
  return summary_of(errors);
}

}  // namespace eplb::sim
