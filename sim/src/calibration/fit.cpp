#include "eplb/sim/calibration/fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {
namespace {

/// Residuals beyond this, about 10 % of the time, count linearly.
constexpr double kHuber = 0.1;
constexpr int kReweightings = 12;

/// Free variables beyond this are as good as at a bound.
constexpr double kInside = 4;

constexpr std::array<FitParameter, 6> kParameters{{
    {.key = "hbm_efficiency",
     .unit = "",
     .low = 0.05,
     .high = 1,
     .get = [](const HardwareOptions& h) { return h.hbm_efficiency; },
     .set = [](HardwareOptions& h, double value) { h.hbm_efficiency = value; }},
    {.key = "arithmetic_efficiency",
     .unit = "",
     .low = 0.05,
     .high = 1,
     .get = [](const HardwareOptions& h) { return h.arithmetic_efficiency; },
     .set = [](HardwareOptions& h, double value) { h.arithmetic_efficiency = value; }},
    {.key = "expert_layer_start_us",
     .unit = "us",
     .low = 0,
     .high = 500,
     .get = [](const HardwareOptions& h) { return h.expert_layer_start_us; },
     .set = [](HardwareOptions& h, double value) { h.expert_layer_start_us = value; }},
    {.key = "expert_layer_start_per_rank_us",
     .unit = "us",
     .low = 0,
     .high = 10,
     .get = [](const HardwareOptions& h) { return h.expert_layer_start_per_rank_us; },
     .set = [](HardwareOptions& h, double value) { h.expert_layer_start_per_rank_us = value; }},
    {.key = "expert_wire_efficiency",
     .unit = "",
     .low = 0.05,
     .high = 1,
     .get = [](const HardwareOptions& h) { return h.expert_wire_efficiency; },
     .set = [](HardwareOptions& h, double value) { h.expert_wire_efficiency = value; }},
    {.key = "expert_row_bandwidth_gb_per_s",
     .unit = "GB/s",
     .low = 200,
     .high = 50000,
     .get = [](const HardwareOptions& h) { return h.expert_row_bandwidth_gb_per_s.value_or(2000); },
     .set = [](HardwareOptions& h, double value) { h.expert_row_bandwidth_gb_per_s = value; }},
}};

constexpr auto kParameterCount = static_cast<Eigen::Index>(kParameters.size());

/// A free variable x stands for low + (high - low) / (1 + exp(-x)), so that every x is within
/// bounds. Where the bounds are magnitudes apart it does so in their logarithm.
bool in_logarithm(const FitParameter& parameter) {
  return parameter.low > 0 && parameter.high > 100 * parameter.low;
}

double bounded(const FitParameter& parameter, double x) {
  const double share = 1 / (1 + std::exp(-x));
  if (in_logarithm(parameter)) {
    return parameter.low * std::pow(parameter.high / parameter.low, share);
  }
  return parameter.low + (parameter.high - parameter.low) * share;
}

double unbounded(const FitParameter& parameter, double value) {
  constexpr double kEdge = 1e-3;
  double share = (value - parameter.low) / (parameter.high - parameter.low);
  if (in_logarithm(parameter)) {
    share = std::log(std::max(value, parameter.low) / parameter.low) /
            std::log(parameter.high / parameter.low);
  }
  share = std::clamp(share, kEdge, 1 - kEdge);
  return std::log(share / (1 - share));
}

/// As near as this to its least value, as a share of its range, a parameter has that value.
constexpr double kAtBound = 1e-6;

HardwareOptions hardware_at(const HardwareOptions& start, const Eigen::VectorXd& x) {
  HardwareOptions hardware = start;
  for (Eigen::Index index = 0; index < kParameterCount; ++index) {
    const FitParameter& parameter = kParameters[static_cast<std::size_t>(index)];
    double value = bounded(parameter, x[index]);
    if (value - parameter.low < kAtBound * (parameter.high - parameter.low) &&
        !in_logarithm(parameter)) {
      value = parameter.low;
    }
    parameter.set(hardware, value);
  }
  return hardware;
}

/// Weighted residuals, in the form that Eigen's solver asks for.
struct Residuals {
  // NOLINTBEGIN(readability-identifier-naming): names of Eigen's.
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;

  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  // NOLINTEND(readability-identifier-naming)

  std::span<const MeasuredLayer> layers;
  const HardwareOptions* start = nullptr;
  Eigen::VectorXd weights;

  [[nodiscard]] int inputs() const { return static_cast<int>(kParameterCount); }

  [[nodiscard]] int values() const { return static_cast<int>(layers.size()); }

  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& out) const {
    const HardwareOptions hardware = hardware_at(*start, x);
    for (std::size_t index = 0; index < layers.size(); ++index) {
      const auto row = static_cast<Eigen::Index>(index);
      out[row] = weights[row] *
                 std::log(predicted_us(layers[index], hardware) / layers[index].measured_us);
    }
    return 0;
  }
};

/// Least squares, reweighted until they are Huber's.
Eigen::VectorXd solve(std::span<const MeasuredLayer> layers, const HardwareOptions& start,
                      Eigen::VectorXd x) {
  const auto rows = static_cast<Eigen::Index>(layers.size());
  Residuals residuals{.layers = layers, .start = &start, .weights = Eigen::VectorXd::Ones(rows)};
  for (int round = 0; round < kReweightings; ++round) {
    // At a bound nothing moves any more, so that each round begins a little inside.
    x = x.cwiseMax(-kInside).cwiseMin(kInside);
    Eigen::NumericalDiff<Residuals> differentiated(residuals);
    Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Residuals>> solver(differentiated);
    solver.parameters.maxfev = 2000;
    static_cast<void>(solver.minimize(x));
    Eigen::VectorXd plain(rows);
    residuals.weights.setOnes();
    residuals(x, plain);
    for (Eigen::Index row = 0; row < rows; ++row) {
      residuals.weights[row] = std::sqrt(std::min(1.0, kHuber / std::abs(plain[row])));
    }
  }
  return x;
}

/// Huber's loss: half the square up to kHuber, then the tangent.
double loss_at(std::span<const MeasuredLayer> layers, const HardwareOptions& start,
               const Eigen::VectorXd& x) {
  const HardwareOptions hardware = hardware_at(start, x);
  double loss = 0;
  for (const MeasuredLayer& layer : layers) {
    const double residual = std::abs(std::log(predicted_us(layer, hardware) / layer.measured_us));
    loss += residual <= kHuber ? residual * residual / 2 : kHuber * (residual - kHuber / 2);
  }
  return loss;
}

std::vector<MeasuredLayer> with_counts(std::span<const MeasuredLayer> layers) {
  std::vector<MeasuredLayer> known(layers.begin(), layers.end());
  std::erase_if(known, [](const MeasuredLayer& layer) { return layer.busiest.empty(); });
  return known;
}

Eigen::VectorXd variables_of(const HardwareOptions& hardware) {
  Eigen::VectorXd x(kParameterCount);
  for (Eigen::Index index = 0; index < kParameterCount; ++index) {
    const FitParameter& parameter = kParameters[static_cast<std::size_t>(index)];
    x[index] = unbounded(parameter, parameter.get(hardware));
  }
  return x;
}

}  // namespace

std::span<const FitParameter> expert_layer_parameters() {
  return kParameters;
}

Result<HardwareOptions> fit_expert_layer(std::span<const MeasuredLayer> layers,
                                         const HardwareOptions& start) {
  const std::vector<MeasuredLayer> known = with_counts(layers);
  if (known.size() < kParameters.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "a fit of " + std::to_string(kParameters.size()) +
                    " figures needs at least as many measurements with known counts, got " +
                    std::to_string(known.size()));
  }
  // A descent may end in a corner that another one avoids, so several begin well inside the bounds.
  constexpr std::array<double, 4> kBeginnings{-0.8, 0.0, 0.8, 1.6};
  Eigen::VectorXd best = solve(known, start, variables_of(start));
  double least = loss_at(known, start, best);
  for (const double beginning : kBeginnings) {
    Eigen::VectorXd x = solve(known, start, Eigen::VectorXd::Constant(kParameterCount, beginning));
    if (const double loss = loss_at(known, start, x); loss < least) {
      least = loss;
      best = std::move(x);
    }
  }
  return hardware_at(start, best);
}

Result<std::vector<FittedFigure>> fit_intervals(std::span<const MeasuredLayer> layers,
                                                const HardwareOptions& fitted, std::int32_t samples,
                                                std::uint64_t seed) {
  const std::vector<MeasuredLayer> known = with_counts(layers);
  RandomStream random(seed, "bootstrap");
  std::vector<std::vector<double>> values(kParameters.size());
  for (std::int32_t sample = 0; sample < samples; ++sample) {
    std::vector<MeasuredLayer> drawn;
    drawn.reserve(known.size());
    for (std::size_t row = 0; row < known.size(); ++row) {
      drawn.push_back(known[random.below(known.size())]);
    }
    const auto refitted = fit_expert_layer(drawn, fitted);
    if (!refitted) {
      return tl::unexpected(refitted.error());
    }
    for (std::size_t index = 0; index < kParameters.size(); ++index) {
      values[index].push_back(kParameters[index].get(*refitted));
    }
  }
  std::vector<FittedFigure> figures;
  figures.reserve(kParameters.size());
  for (std::size_t index = 0; index < kParameters.size(); ++index) {
    FittedFigure figure{.parameter = &kParameters[index], .value = kParameters[index].get(fitted)};
    std::ranges::sort(values[index]);
    if (samples > 0) {
      figure.low = values[index][static_cast<std::size_t>(samples) / 20];
      figure.high = values[index][static_cast<std::size_t>(samples - 1 - samples / 20)];
    }
    figures.push_back(figure);
  }
  return figures;
}

}  // namespace eplb::sim
