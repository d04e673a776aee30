// Goal: a measured layer is predicted from its counts alone, by the busiest of its ranks. Method:
// counts and times worked by hand on the round figures of the small scenario.
#include "eplb/sim/calibration/measured_layer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

MeasuredLayer layer_of(std::vector<std::int64_t> counts, double measured_us) {
  const Scenario s = test::small_scenario();
  return {.device = "round",
          .distribution = "by hand",
          .model = s.model,
          .ranks = 4,
          .tokens_per_rank = 8,
          .busiest = features_by_rank(counts, 4, 16),
          .measured_us = measured_us};
}

TEST_CASE("ranks own consecutive experts, and ranks that are alike count once") {
  const std::array<std::int64_t, 8> counts{5, 0, 9, 0, 5, 0, 1, 1};
  const auto features = features_by_rank(counts, 4, 16);
  // Two ranks have one expert with 5 and one with 9 tokens, blocks of 16: the two with 5 are alike.
  REQUIRE(features.size() == 3);
  for (const ExpertLayerFeatures& one : features) {
    CHECK(one.sent_rows == 16);
  }
  CHECK(std::ranges::count(features, 9, &ExpertLayerFeatures::assignments) == 1);
  CHECK(std::ranges::count(features, 5, &ExpertLayerFeatures::assignments) == 1);
  CHECK(std::ranges::max(features, {}, &ExpertLayerFeatures::touched_experts).assignments == 2);
}

TEST_CASE("a layer lasts as long as its slowest rank") {
  std::vector<std::int64_t> counts(16, 4);
  counts[3] = 40;
  const MeasuredLayer layer = layer_of(counts, 100);
  const Scenario s = test::small_scenario();
  const ExpertLayerCost cost = expert_layer_cost(s.model, s.hardware, s.parallel);
  // The first rank: 3 experts of 4 tokens and one of 40, in blocks of 16.
  const double slowest_ns = expert_layer_ns(
      cost,
      ExpertLayerFeatures{
          .touched_experts = 4, .assignments = 52, .padded_rows = 3 * 16 + 48, .sent_rows = 16});
  CHECK(predicted_us(layer, s.hardware) == doctest::Approx(slowest_ns * 1e-3));
}

TEST_CASE("errors are signed shares of the measurement, and unknown counts have none") {
  const HardwareOptions hardware = test::small_scenario().hardware;
  const std::vector<std::int64_t> counts(16, 4);
  const double us = predicted_us(layer_of(counts, 1), hardware);
  std::vector<MeasuredLayer> layers{layer_of(counts, us / 1.1), layer_of(counts, us / 0.7),
                                    layer_of(counts, 1)};
  layers[2].busiest.clear();
  const PredictionErrors errors = errors_of(layers, hardware);
  CHECK(errors.rows == 2);
  CHECK(errors.mean_absolute == doctest::Approx(0.2));
  CHECK(errors.bias == doctest::Approx(-0.1));
  CHECK(errors.worst == doctest::Approx(-0.3));
}

}  // namespace
}  // namespace eplb::sim
