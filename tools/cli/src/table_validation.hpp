#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/core/result.hpp"
#include "eplb/formats/kernel_table.hpp"
#include "eplb/sim/calibration/measured_layer.hpp"

namespace eplb::cli {

/// A row of a table of kernel times with its prediction.
struct PredictedKernel {
  formats::KernelRow row;
  double predicted_us = 0;

  [[nodiscard]] double error() const { return predicted_us / row.latency_us - 1; }
};

/// A row that cannot be predicted, and why.
struct SkippedKernel {
  formats::KernelRow row;
  std::string why;
};

/// A table predicted with the shipped hardware of each row's device; nothing is fitted.
struct TablePrediction {
  std::vector<PredictedKernel> rows;
  std::vector<SkippedKernel> skipped;
};

struct TableOptions {
  /// Whether counts of distributions that are known by rule only are drawn anew (3 seeds, the mean
  /// prediction); else such rows are skipped, as all without counts.
  bool draw_counts = false;
};

/// kInvalidArgument if counts do not fit the rows, or a hardware file is wrong.
[[nodiscard]] Result<TablePrediction> predict_table(const formats::KernelMeasurements& table,
                                                    const config::LoadOptions& load_options,
                                                    const TableOptions& options);

/// Errors of the rows that `keep` accepts.
[[nodiscard]] sim::PredictionErrors errors_of(
    const std::vector<PredictedKernel>& rows,
    const std::function<bool(const formats::KernelRow&)>& keep);

/// Errors of all rows that share a device, a group size, a distribution, by what they share.
[[nodiscard]] std::map<std::string, std::map<std::string, sim::PredictionErrors>> errors_by(
    const std::vector<PredictedKernel>& rows);

/// Rows by falling absolute error, at most so many.
[[nodiscard]] std::vector<PredictedKernel> worst_rows(std::vector<PredictedKernel> rows,
                                                      std::size_t count_max);

/// Something wrong that must break the fit, or the fit tells nothing.
struct NegativeControl {
  std::string name;
  double mean_absolute = 0;  ///< Of the held-out rows with counts, as they are,
  double broken = 0;         ///< and with what is wrong.

  /// Visibly: half as much again, and beyond what is allowed of the sound rows.
  [[nodiscard]] bool breaks() const { return broken > 1.5 * mean_absolute && broken > 0.07; }
};

/// Counts dealt to other experts at random, half the bandwidths, twice as many ranks: on the rows
/// that have counts of their own.
[[nodiscard]] Result<std::vector<NegativeControl>> negative_controls(
    const formats::KernelMeasurements& table, const config::LoadOptions& load_options);

}  // namespace eplb::cli
