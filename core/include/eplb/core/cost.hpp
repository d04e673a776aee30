#pragma once

#include <cstdint>
#include <span>

namespace eplb {

/// What the time of one expert layer (dispatch, two GEMMs, combine) on one rank depends on.
struct ExpertLayerFeatures {
  std::int64_t touched_experts = 0;  ///< Local slots with at least one token: weights to be read.
  std::int64_t assignments = 0;      ///< (row, k) pairs that arrive here.
  std::int64_t padded_rows = 0;      ///< Assignments, each slot's rounded up to whole blocks.
  std::int64_t sent_rows = 0;        ///< (row, k) pairs of the rank's own rows, wherever they go.
};

/// Coefficients of the cost of an expert layer, all from a hardware and a model file.
struct ExpertLayerCost {
  double start_ns = 0;               ///< Launch and barriers of the group: paid once a layer.
  double ns_per_touched_expert = 0;  ///< Bytes of an expert / effective memory bandwidth.
  double ns_per_padded_row = 0;      ///< FLOPs of a row / effective arithmetic rate.
  double ns_per_dispatched_row = 0;  ///< Activations of a row / effective port bandwidth.
  double ns_per_combined_row = 0;    ///< Result of a row / effective port bandwidth.
  double ns_per_assignment = 0;      ///< Handling of a row in memory, which nothing hides.
};

/// What a row costs on a way out of a rank and into it, in ns.
struct WireCost {
  double ns_per_dispatched_row = 0;
  double ns_per_combined_row = 0;
};

/// (row, k) pairs on such a way; fractions where they are means.
struct WireRows {
  double arriving = 0;  ///< Of others, for the rank's experts.
  double sent = 0;      ///< The rank's own, to experts elsewhere.
};

/// Time of the busier direction, in ns: a port takes in the rows that arrive and the results of
/// those it has sent, and lets out the rows that it sends and the results of those that arrived.
[[nodiscard]] double wire_ns(const WireCost& cost, const WireRows& rows);

/// Rows of a GEMM block for an expected number of tokens an expert, from 16 to 192: the steps at
/// which DeepGEMM's Mega MoE changes its block (8.5, 16.5, 32.5, 64.5 and 96.5 tokens).
[[nodiscard]] std::int32_t block_rows_for(double expected_tokens_per_expert);

/// Features of a rank whose slots get `tokens_per_slot` tokens, but for the rows that it sends;
/// `block_rows` is at least 1.
[[nodiscard]] ExpertLayerFeatures features_of(std::span<const std::int64_t> tokens_per_slot,
                                              std::int32_t block_rows);

/// The parts of a layer's time on a rank, in ns. The first three overlap.
struct ExpertLayerParts {
  double weights_ns = 0;
  double arithmetic_ns = 0;
  double wire_ns = 0;  ///< Of the busier direction of the rank's port.
  double rows_ns = 0;
};

/// On the wire all rows are alike: wire_ns of all, at the mean cost of a row wherever it goes.
[[nodiscard]] ExpertLayerParts expert_layer_parts(const ExpertLayerCost& cost,
                                                  const ExpertLayerFeatures& features);

/// Time of the layer on a rank: start + rows + smooth maximum of weights, arithmetic and wire, the
/// 8th root of the sum of their 8th powers. A layer ends with its slowest rank. Only products and
/// square roots, so that every machine gets the same bits. Derivation: docs/cost-model.md.
[[nodiscard]] double expert_layer_ns(const ExpertLayerCost& cost,
                                     const ExpertLayerFeatures& features);

/// No rank with these parts takes longer: for those who seek the slowest.
[[nodiscard]] double longest_expert_layer_ns(const ExpertLayerCost& cost,
                                             const ExpertLayerParts& parts);

/// The same from parts that are known.
[[nodiscard]] double expert_layer_ns(const ExpertLayerCost& cost, const ExpertLayerParts& parts);

}  // namespace eplb
