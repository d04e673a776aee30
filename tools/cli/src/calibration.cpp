#include "calibration.hpp"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <set>

#include "kernel_layers.hpp"

namespace eplb::cli {
namespace {

using Layers = std::vector<sim::MeasuredLayer>;

/// As many digits as a file for people should have.
double rounded(double value) {
  constexpr double kDigits = 4;
  if (value == 0) {
    return 0;
  }
  const double scale = std::pow(10, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

template <typename Keep>
Layers filtered(const Layers& layers, const Keep& keep) {
  Layers kept;
  for (const sim::MeasuredLayer& layer : layers) {
    if (!layer.busiest.empty() && keep(layer)) {
      kept.push_back(layer);
    }
  }
  return kept;
}

void add_errors(std::string name, const Layers& layers, const sim::HardwareOptions& hardware,
                std::vector<NamedErrors>& out) {
  if (!layers.empty()) {
    out.push_back({.name = std::move(name), .errors = sim::errors_of(layers, hardware)});
  }
}

/// Copies the fit's figures into another device's hardware.
sim::HardwareOptions with_figures(sim::HardwareOptions hardware,
                                  const sim::HardwareOptions& fitted) {
  for (const sim::FitParameter& parameter : sim::expert_layer_parameters()) {
    parameter.set(hardware, parameter.get(fitted));
  }
  return hardware;
}

void judge_held_out(const Layers& own, Calibration& calibration) {
  std::map<std::string, std::set<std::int32_t>> ranks_by_distribution;
  for (const sim::MeasuredLayer& layer : own) {
    if (layer.distribution != kBalanced) {
      ranks_by_distribution[layer.distribution].insert(layer.ranks);
    }
  }
  for (const auto& entry : ranks_by_distribution) {
    const std::string& distribution = entry.first;
    add_errors(distribution,
               filtered(own,
                        [&](const sim::MeasuredLayer& layer) {
                          return layer.distribution == distribution;
                        }),
               calibration.fitted, calibration.held_out);
    for (const std::int32_t ranks : entry.second) {
      add_errors(fmt::format("{} EP{}", distribution, ranks),
                 filtered(own,
                          [&](const sim::MeasuredLayer& layer) {
                            return layer.distribution == distribution && layer.ranks == ranks;
                          }),
                 calibration.fitted, calibration.held_out);
    }
  }
}

Result<void> leave_out_ranks(const Layers& balanced, Calibration& calibration) {
  std::set<std::int32_t> all_ranks;
  for (const sim::MeasuredLayer& layer : balanced) {
    all_ranks.insert(layer.ranks);
  }
  if (all_ranks.size() < 2) {
    return {};
  }
  for (const std::int32_t ranks : all_ranks) {
    const auto is_left_out = [&](const sim::MeasuredLayer& layer) { return layer.ranks == ranks; };
    const auto fit = sim::fit_expert_layer(
        filtered(balanced, [&](const auto& layer) { return !is_left_out(layer); }),
        calibration.fitted);
    if (!fit) {
      return tl::unexpected(fit.error());
    }
    add_errors(fmt::format("EP{}", ranks), filtered(balanced, is_left_out), *fit,
               calibration.left_out_ranks);
  }
  return {};
}

}  // namespace

Result<Calibration> calibrate(const CalibrationRequest& request) {
  const Layers own = filtered(request.layers, [&](const sim::MeasuredLayer& layer) {
    return layer.device == request.device;
  });
  const Layers balanced = filtered(
      own, [](const sim::MeasuredLayer& layer) { return layer.distribution == kBalanced; });
  const auto fit = sim::fit_expert_layer(balanced, request.start);
  if (!fit) {
    return tl::unexpected(fit.error());
  }
  Calibration calibration{.figures = {},
                          .fitted = *fit,
                          .balanced = {},
                          .held_out = {},
                          .left_out_ranks = {},
                          .other_devices = {}};
  for (const sim::FitParameter& parameter : sim::expert_layer_parameters()) {
    parameter.set(calibration.fitted, rounded(parameter.get(*fit)));
  }
  constexpr std::uint64_t kBootstrapSeed = 1;
  auto figures =
      sim::fit_intervals(balanced, calibration.fitted, request.bootstrap_samples, kBootstrapSeed);
  if (!figures) {
    return tl::unexpected(figures.error());
  }
  calibration.figures = *std::move(figures);
  calibration.balanced = sim::errors_of(balanced, calibration.fitted);
  judge_held_out(own, calibration);
  if (auto left_out = leave_out_ranks(balanced, calibration); !left_out) {
    return tl::unexpected(left_out.error());
  }
  for (const auto& other : request.others) {
    add_errors(
        other.first,
        filtered(request.layers,
                 [&](const sim::MeasuredLayer& layer) { return layer.device == other.first; }),
        with_figures(other.second, calibration.fitted), calibration.other_devices);
  }
  return calibration;
}

}  // namespace eplb::cli
