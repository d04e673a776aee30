// Goal: a fit finds the figures that made the measurements, shrugs off a row that is wrong, and
// refuses what cannot be fitted. Method: times that the model itself predicts from planted figures.
#include "eplb/sim/calibration/fit.hpp"

#include <doctest/doctest.h>

#include <string>

#include "eplb/sim/calibration/routing_counts.hpp"

namespace eplb::sim {
namespace {

HardwareOptions planted() {
  HardwareOptions hardware;
  hardware.device = "planted";
  hardware.gpus_per_node = 4;
  hardware.gpus_per_domain = 72;
  hardware.hbm_bandwidth_gb_per_s = 8000;
  hardware.hbm_efficiency = 0.7;
  hardware.fp8_tflops = 5000;
  hardware.arithmetic_efficiency = 0.6;
  hardware.nvlink_bandwidth_gb_per_s = 700;
  hardware.network_bandwidth_gb_per_s = 50;
  hardware.expert_layer_start_us = 50;
  hardware.expert_layer_start_per_rank_us = 0.8;
  hardware.expert_wire_efficiency = 0.5;
  hardware.expert_row_bandwidth_gb_per_s = 3000;
  return hardware;
}

HardwareOptions elsewhere() {
  HardwareOptions hardware = planted();
  for (const FitParameter& parameter : expert_layer_parameters()) {
    parameter.set(hardware, (parameter.low + parameter.high) / 2);
  }
  return hardware;
}

std::vector<MeasuredLayer> layers_of(const HardwareOptions& truth) {
  std::vector<MeasuredLayer> layers;
  for (const std::int32_t ranks : {4, 8, 16, 32}) {
    for (std::int64_t tokens = 1; tokens <= 32'768; tokens *= 4) {
      const auto counts = balanced_counts({.experts = 384, .top_k = 6, .tokens = tokens * ranks});
      layers.push_back({.device = "planted",
                        .distribution = "balanced",
                        .model = {.name = {},
                                  .moe_layers = 1,
                                  .hidden = 7168,
                                  .moe_intermediate = 3072,
                                  .logical_experts = 384,
                                  .top_k = 6,
                                  .weight_format = WeightFormat::kMxfp4},
                        .ranks = ranks,
                        .tokens_per_rank = tokens,
                        .busiest = features_by_rank(counts, ranks, tokens * 6)});
      layers.back().measured_us = predicted_us(layers.back(), truth);
    }
  }
  return layers;
}

void check_figures(const HardwareOptions& fitted, double tolerance) {
  const HardwareOptions truth = planted();
  for (const FitParameter& parameter : expert_layer_parameters()) {
    const std::string key(parameter.key);
    CAPTURE(key);
    CHECK(parameter.get(fitted) == doctest::Approx(parameter.get(truth)).epsilon(tolerance));
  }
}

TEST_CASE("planted figures are found from far away") {
  const auto fitted = fit_expert_layer(layers_of(planted()), elsewhere());
  REQUIRE(fitted.has_value());
  check_figures(*fitted, 0.01);
}

TEST_CASE("one measurement that is three times too long moves no figure by a tenth") {
  std::vector<MeasuredLayer> layers = layers_of(planted());
  layers[13].measured_us *= 3;
  const auto fitted = fit_expert_layer(layers, elsewhere());
  REQUIRE(fitted.has_value());
  check_figures(*fitted, 0.1);
}

TEST_CASE("fits stay within bounds, though a better one lies beyond") {
  HardwareOptions truth = planted();
  truth.hbm_efficiency = 1.5;
  truth.expert_layer_start_per_rank_us = -0.5;
  const auto fitted = fit_expert_layer(layers_of(truth), elsewhere());
  REQUIRE(fitted.has_value());
  for (const FitParameter& parameter : expert_layer_parameters()) {
    const std::string key(parameter.key);
    CAPTURE(key);
    CHECK(parameter.get(*fitted) >= parameter.low);
    CHECK(parameter.get(*fitted) <= parameter.high);
  }
  CHECK(fitted->hbm_efficiency > 0.99);
  CHECK(fitted->expert_layer_start_per_rank_us < 0.05);
}

TEST_CASE("intervals hold the planted figures, and are the same again") {
  const HardwareOptions truth = planted();
  const std::vector<MeasuredLayer> layers = layers_of(truth);
  const auto figures = fit_intervals(layers, truth, 20, 3).value();
  REQUIRE(figures.size() == expert_layer_parameters().size());
  for (const FittedFigure& figure : figures) {
    const std::string key(figure.parameter->key);
    CAPTURE(key);
    CHECK(figure.low <= figure.high);
    CHECK(figure.low == doctest::Approx(figure.parameter->get(truth)).epsilon(0.05));
    CHECK(figure.high == doctest::Approx(figure.parameter->get(truth)).epsilon(0.05));
  }
  const auto again = fit_intervals(layers, truth, 20, 3).value();
  CHECK(again.front().low == figures.front().low);
}

TEST_CASE("too few measurements with counts are refused") {
  std::vector<MeasuredLayer> layers = layers_of(planted());
  layers.resize(7);
  layers[0].busiest.clear();
  layers[1].busiest.clear();
  const auto fitted = fit_expert_layer(layers, planted());
  REQUIRE_FALSE(fitted.has_value());
  CHECK(fitted.error().code == ErrorCode::kInvalidArgument);
  CHECK(fitted.error().message ==
        "a fit of 6 figures needs at least as many measurements with known counts, got 5");
}

}  // namespace
}  // namespace eplb::sim
