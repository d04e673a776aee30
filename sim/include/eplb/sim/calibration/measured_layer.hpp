#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/cost.hpp"
#include "eplb/core/options.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// A measured expert layer, from dispatch to combine, on a group of its own.
struct MeasuredLayer {
  std::string device;
  std::string distribution;
  ModelOptions model;  ///< Its shape and format.
  std::int32_t ranks = 1;
  std::int64_t tokens_per_rank = 0;
  std::vector<ExpertLayerFeatures> busiest;  ///< Of ranks that differ; empty: counts unknown.
  double measured_us = 0;
};

/// Features of the ranks of a group whose experts get `counts` tokens, experts contiguous on ranks
/// (rank r has counts.size() / ranks of them); each different rank once.
[[nodiscard]] std::vector<ExpertLayerFeatures> features_by_rank(
    std::span<const std::int64_t> counts, std::int32_t ranks, std::int64_t sent_rows_per_rank);

/// Time of the layer by the cost model of `hardware`; needs known counts.
[[nodiscard]] double predicted_us(const MeasuredLayer& layer, const HardwareOptions& hardware);

/// How far predictions lie from measurements, as shares of the measurement.
struct PredictionErrors {
  std::int64_t rows = 0;
  double mean_absolute = 0;
  double bias = 0;   ///< Mean of the signed errors.
  double worst = 0;  ///< Signed, of the largest absolute one.
};

/// Of signed errors, each a share of its measurement.
[[nodiscard]] PredictionErrors summary_of(std::span<const double> errors);

[[nodiscard]] PredictionErrors errors_of(std::span<const MeasuredLayer> layers,
                                         const HardwareOptions& hardware);

}  // namespace eplb::sim
