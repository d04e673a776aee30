#include "eplb/core/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

struct BlockStep {
  double tokens_max;
  std::int32_t rows;
};

constexpr std::array<BlockStep, 5> kBlockSteps{
    {{8.5, 16}, {16.5, 32}, {32.5, 64}, {64.5, 96}, {96.5, 128}}};
constexpr std::int32_t kLargestBlockRows = 192;

/// Three parts that are alike last the 8th root of three times as long as one.
constexpr double kLongestOverlap = 1.1472027;

double eighth_power(double value) {
  const double square = value * value;
  const double fourth = square * square;
  return fourth * fourth;
}

double eighth_root(double value) {
  return std::sqrt(std::sqrt(std::sqrt(value)));
}

double longest_part(const ExpertLayerParts& parts) {
  return std::max({parts.weights_ns, parts.arithmetic_ns, parts.wire_ns});
}

}  // namespace

std::int32_t block_rows_for(double expected_tokens_per_expert) {
  const auto* const fitting = std::ranges::find_if(kBlockSteps, [&](const BlockStep& step) {
    return expected_tokens_per_expert <= step.tokens_max;
  });
  return fitting != kBlockSteps.end() ? fitting->rows : kLargestBlockRows;
}

ExpertLayerFeatures features_of(std::span<const std::int64_t> tokens_per_slot,
                                std::int32_t block_rows) {
  EPLB_ASSERT_OP(block_rows, >=, 1);
  ExpertLayerFeatures features;
  for (const std::int64_t tokens : tokens_per_slot) {
    const std::int64_t blocks = (tokens + block_rows - 1) / block_rows;
    features.touched_experts += tokens > 0 ? 1 : 0;
    features.assignments += tokens;
    features.padded_rows += blocks * block_rows;
  }
  return features;
}

double wire_ns(const WireCost& cost, const WireRows& rows) {
  const double in_ns =
      rows.arriving * cost.ns_per_dispatched_row + rows.sent * cost.ns_per_combined_row;
  const double out_ns =
      rows.sent * cost.ns_per_dispatched_row + rows.arriving * cost.ns_per_combined_row;
  return std::max(in_ns, out_ns);
}

ExpertLayerParts expert_layer_parts(const ExpertLayerCost& cost,
                                    const ExpertLayerFeatures& features) {
  const auto arriving = static_cast<double>(features.assignments);
  return {.weights_ns = cost.ns_per_touched_expert * static_cast<double>(features.touched_experts),
          .arithmetic_ns = cost.ns_per_padded_row * static_cast<double>(features.padded_rows),
          .wire_ns = eplb::wire_ns(
              {cost.ns_per_dispatched_row, cost.ns_per_combined_row},
              {.arriving = arriving, .sent = static_cast<double>(features.sent_rows)}),
          .rows_ns = cost.ns_per_assignment * arriving};
}

double longest_expert_layer_ns(const ExpertLayerCost& cost, const ExpertLayerParts& parts) {
  return cost.start_ns + parts.rows_ns + kLongestOverlap * longest_part(parts);
}

double expert_layer_ns(const ExpertLayerCost& cost, const ExpertLayerParts& parts) {
  const double longest_ns = longest_part(parts);
  if (longest_ns <= 0) {
    return cost.start_ns + parts.rows_ns;
  }
  // As shares of the longest part, so that no power overflows.
  const double sum = eighth_power(parts.weights_ns / longest_ns) +
                     eighth_power(parts.arithmetic_ns / longest_ns) +
                     eighth_power(parts.wire_ns / longest_ns);
  return cost.start_ns + parts.rows_ns + longest_ns * eighth_root(sum);
}

double expert_layer_ns(const ExpertLayerCost& cost, const ExpertLayerFeatures& features) {
  return expert_layer_ns(cost, expert_layer_parts(cost, features));
}

}  // namespace eplb
