#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counting_study.hpp"
#include "eplb/config/config.hpp"
#include "eplb/core/result.hpp"
#include "published.hpp"
#include "table_validation.hpp"

namespace eplb::cli {

/// One figure, as it was published and as it is predicted.
struct ValidationRow {
  std::string group;
  std::string name;      ///< The case.
  std::string quantity;  ///< As `throughput_gain`.
  std::string unit;
  double published = 0;
  std::optional<double> sd = std::nullopt;
  std::optional<std::pair<double, double>> range = std::nullopt;
  double predicted = 0;
  bool fitted = false;
  std::vector<std::string> uses = {};  ///< Inputs that were taken from published figures.
  std::string note = {};

  /// Signed: relative, but of shares the difference.
  [[nodiscard]] double error() const;

  /// Within two standard deviations, or within the range; none where neither was published.
  [[nodiscard]] std::optional<bool> inside() const;
};

/// Runs in the order in which their metric was said to fall.
struct ValidatedOrder {
  std::string claim;
  std::string metric;
  std::vector<double> values;

  [[nodiscard]] bool holds() const;
};

/// What a group of rows must come to.
struct Bar {
  std::string name;
  std::string rule;
  double value = 0;
  bool holds = false;
};

struct Validation {
  std::vector<ValidationRow> rows;
  std::vector<SkippedKernel> skipped;
  std::vector<PredictedKernel> worst;  ///< Of the kernel's rows, those with counts.
  std::vector<ValidatedOrder> orders;
  std::vector<NegativeControl> controls;
  std::vector<CountingCost> counting;
  std::vector<NotPredicted> not_predicted;
  std::vector<Bar> bars;

  [[nodiscard]] bool holds() const;
};

struct ValidationRequest {
  std::filesystem::path configs;  ///< Where scenarios are.
  config::LoadOptions load_options;
  Published published;
  formats::KernelMeasurements measurements;
  std::function<void(const std::string&)> progress;
};

[[nodiscard]] Result<Validation> validate_all(const ValidationRequest& request);

}  // namespace eplb::cli
