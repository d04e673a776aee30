// Goal: the cost of an expert layer counts what it says. Method: slots around the block size, and
// each of the three overlapping parts made the longest in turn.
#include "eplb/core/cost.hpp"

#include <doctest/doctest.h>

#include <array>
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

TEST_CASE("the block is the smallest that an expert's expected tokens fit") {
  CHECK(block_rows_for(0) == 16);
  CHECK(block_rows_for(16) == 16);
  CHECK(block_rows_for(16.5) == 32);
  CHECK(block_rows_for(32) == 32);
  CHECK(block_rows_for(33) == 64);
  CHECK(block_rows_for(64) == 64);
  CHECK(block_rows_for(65) == 96);
  CHECK(block_rows_for(96) == 96);
  CHECK(block_rows_for(97) == 128);
  CHECK(block_rows_for(128) == 128);
  CHECK(block_rows_for(129) == 192);
  CHECK(block_rows_for(192) == 192);
  CHECK(block_rows_for(1e9) == 192);
  CHECK(block_rows_for(std::numeric_limits<double>::infinity()) == 192);
}

TEST_CASE("a layer takes its start and the longest of its overlapping parts") {
  const ExpertLayerFeatures features{.touched_experts = 13, .assignments = 200, .padded_rows = 256};
  const auto layer_ns = [&](double per_expert, double per_padded_row, double per_assignment) {
    return expert_layer_ns({.start_ns = 1000,
                            .ns_per_touched_expert = per_expert,
                            .ns_per_padded_row = per_padded_row,
                            .ns_per_assignment = per_assignment},
                           features);
  };
  CHECK(layer_ns(100, 1, 1) == 1000 + 1300);
  CHECK(layer_ns(10, 10, 1) == 1000 + 2560);
  CHECK(layer_ns(10, 1, 20) == 1000 + 4000);
  CHECK(layer_ns(0, 0, 0) == 1000);
}

}  // namespace
}  // namespace eplb
