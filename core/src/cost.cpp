#include "eplb/core/cost.hpp"

#include <algorithm>
#include <array>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

constexpr std::array<std::int32_t, 6> kBlockRows{16, 32, 64, 96, 128, 192};

}  // namespace

std::int32_t block_rows_for(double expected_tokens_per_expert) {
  const auto* const fitting = std::ranges::find_if(
      kBlockRows, [&](std::int32_t rows) { return expected_tokens_per_expert <= rows; });
  return fitting != kBlockRows.end() ? *fitting : kBlockRows.back();
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

double expert_layer_ns(const ExpertLayerCost& cost, const ExpertLayerFeatures& features) {
  const double weights_ns =
      cost.ns_per_touched_expert * static_cast<double>(features.touched_experts);
  const double arithmetic_ns = cost.ns_per_padded_row * static_cast<double>(features.padded_rows);
  const double wire_ns = cost.ns_per_assignment * static_cast<double>(features.assignments);
  return cost.start_ns + std::max({weights_ns, arithmetic_ns, wire_ns});
}

}  // namespace eplb
