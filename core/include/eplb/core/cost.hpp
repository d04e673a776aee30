#pragma once

#include <cstdint>
#include <span>

namespace eplb {

/// What the time of one expert layer (dispatch, two GEMMs, combine) on one rank depends on.
struct ExpertLayerFeatures {
  std::int64_t touched_experts = 0;  ///< Local slots with at least one token: weights to be read.
  std::int64_t assignments = 0;      ///< (row, k) pairs that arrive here.
  std::int64_t padded_rows = 0;      ///< Assignments, each slot's rounded up to whole blocks.
};

/// Coefficients of the cost of an expert layer, all from a hardware and a model file.
struct ExpertLayerCost {
  double start_ns = 0;               ///< Launch, barriers, first bytes: paid once a layer.
  double ns_per_touched_expert = 0;  ///< Bytes of an expert / effective memory bandwidth.
  double ns_per_padded_row = 0;      ///< FLOPs of a row / effective arithmetic rate.
  double ns_per_assignment = 0;      ///< Bytes in and out of a row / effective port bandwidth.
};

/// Rows of a GEMM block for an expected number of tokens an expert: the smallest of
/// 16, 32, 64, 96, 128, 192 that is not below it, else 192.
[[nodiscard]] std::int32_t block_rows_for(double expected_tokens_per_expert);

/// Features of a rank whose slots get `tokens_per_slot` tokens; `block_rows` is at least 1.
[[nodiscard]] ExpertLayerFeatures features_of(std::span<const std::int64_t> tokens_per_slot,
                                              std::int32_t block_rows);

/// Time of the layer on a rank: start, then the longest of weight reads, arithmetic and wire, which
/// overlap. A layer ends with its slowest rank.
[[nodiscard]] double expert_layer_ns(const ExpertLayerCost& cost,
                                     const ExpertLayerFeatures& features);

}  // namespace eplb
