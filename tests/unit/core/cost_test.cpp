// Goal: the cost of an expert layer counts what it says. Method: slots around the block size, each
// part worked by hand, and the smooth maximum held to its definition.
#include "eplb/core/cost.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace eplb {
namespace {

TEST_CASE("a slot's tokens are padded to whole blocks, and an idle slot costs nothing") {
  const std::array<std::int64_t, 6> tokens{0, 1, 16, 17, 32, 33};
  const ExpertLayerFeatures features = features_of(tokens, 16);
  CHECK(features.touched_experts == 5);
  CHECK(features.assignments == 1 + 16 + 17 + 32 + 33);
  CHECK(features.padded_rows == 16 + 16 + 32 + 32 + 48);
}

TEST_CASE("blocks of one row pad nothing, and no slots have no features") {
  const std::array<std::int64_t, 3> tokens{5, 0, 7};
  CHECK(features_of(tokens, 1).padded_rows == 12);
  CHECK(features_of({}, 16).padded_rows == 0);
  CHECK(features_of({}, 16).touched_experts == 0);
}

TEST_CASE("the block grows with an expert's expected tokens, in the steps of DeepGEMM") {
  CHECK(block_rows_for(0) == 16);
  CHECK(block_rows_for(8.5) == 16);
  CHECK(block_rows_for(8.6) == 32);
  CHECK(block_rows_for(16.5) == 32);
  CHECK(block_rows_for(17) == 64);
  CHECK(block_rows_for(32.5) == 64);
  CHECK(block_rows_for(33) == 96);
  CHECK(block_rows_for(64) == 96);
  CHECK(block_rows_for(65) == 128);
  CHECK(block_rows_for(96) == 128);
  CHECK(block_rows_for(97) == 192);
  CHECK(block_rows_for(1e9) == 192);
  CHECK(block_rows_for(std::numeric_limits<double>::infinity()) == 192);
}

constexpr ExpertLayerCost kCost{.start_ns = 1000,
                                .ns_per_touched_expert = 100,
                                .ns_per_padded_row = 10,
                                .ns_per_dispatched_row = 2,
                                .ns_per_combined_row = 4,
                                .ns_per_assignment = 3};

TEST_CASE("the parts of a layer, and the busier direction of its port") {
  ExpertLayerParts parts = expert_layer_parts(
      kCost, {.touched_experts = 13, .assignments = 200, .padded_rows = 256, .sent_rows = 150});
  CHECK(parts.weights_ns == 1300);
  CHECK(parts.arithmetic_ns == 2560);
  CHECK(parts.rows_ns == 600);
  // In: 200 x 2 + 150 x 4; out: 150 x 2 + 200 x 4.
  CHECK(parts.wire_ns == 1100);
  parts = expert_layer_parts(kCost, {.assignments = 100, .sent_rows = 150});
  CHECK(parts.wire_ns == 100 * 2 + 150 * 4);
}

TEST_CASE("a layer takes its start, its rows and the smooth maximum of what overlaps") {
  const auto layer_ns = [](double weights, double arithmetic, double wire) {
    return expert_layer_ns(
        kCost,
        ExpertLayerParts{
            .weights_ns = weights, .arithmetic_ns = arithmetic, .wire_ns = wire, .rows_ns = 50});
  };
  CHECK(layer_ns(0, 0, 0) == 1050);
  CHECK(layer_ns(500, 0, 0) == 1550);
  CHECK(layer_ns(0, 700, 0) == 1750);
  CHECK(layer_ns(0, 0, 900) == 1950);
  CHECK(layer_ns(400, 400, 400) == doctest::Approx(1050 + 400 * std::pow(3, 0.125)));
  CHECK(layer_ns(100, 300, 200) ==
        doctest::Approx(1050 +
                        std::pow(std::pow(100, 8) + std::pow(300, 8) + std::pow(200, 8), 0.125)));
  CHECK(layer_ns(1e80, 0, 0) == doctest::Approx(1e80));
}

TEST_CASE("no layer lasts longer than its bound, which three equal parts reach") {
  const ExpertLayerParts even{
      .weights_ns = 400, .arithmetic_ns = 400, .wire_ns = 400, .rows_ns = 5};
  const double bound_ns = longest_expert_layer_ns(kCost, even);
  CHECK(expert_layer_ns(kCost, even) <= bound_ns);
  CHECK(expert_layer_ns(kCost, even) == doctest::Approx(bound_ns).epsilon(1e-6));
}

}  // namespace
}  // namespace eplb
