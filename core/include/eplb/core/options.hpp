#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "eplb/core/replica_choice.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"

namespace eplb {

/// How an expert's parameters are stored; block scales included.
enum class WeightFormat : std::uint8_t {
  kBf16,
  kFp8Block128,  ///< E4M3, one float32 scale a block of 128 x 128.
  kMxfp8,        ///< E4M3, one UE8M0 scale a group of 32.
  kMxfp4,        ///< E2M1, one UE8M0 scale a group of 32.
  kNvfp4,        ///< E2M1, one E4M3 scale a group of 16.
  kInt4Group32,  ///< 4-bit integers, one bfloat16 scale a group of 32.
};

/// The mixture-of-experts part of a model (configs/models).
struct ModelOptions {
  std::string name;
  std::int32_t moe_layers = 0;
  std::int32_t hidden = 0;            ///< Width of a row as the experts see it.
  std::int32_t moe_intermediate = 0;  ///< Inner width of one expert.
  std::int32_t logical_experts = 0;
  std::int32_t top_k = 0;
  std::int32_t expert_groups = 1;
  WeightFormat weight_format = WeightFormat::kBf16;
};

/// Bytes of one expert's three matrices with their scales, rounded up.
[[nodiscard]] std::int64_t bytes_per_expert(const ModelOptions& model);

/// FLOPs of one row through one expert: two for each of its parameters.
[[nodiscard]] double flops_per_row(const ModelOptions& model);

/// How the model is spread over GPUs.
struct ParallelOptions {
  std::int32_t ranks = 0;           ///< Members of the EP group.
  std::int32_t ranks_per_node = 0;  ///< Ranks that share a host.
};

/// The balancer's settings; names and defaults of vLLM's --eplb-config, then ours.
struct EplbOptions {
  bool enabled = true;
  std::int32_t num_redundant_experts = 0;
  std::int32_t window_size = 1000;    ///< Recorded steps that the window holds.
  std::int32_t step_interval = 3000;  ///< Steps from one rearrangement to the next.
  bool use_async = true;              ///< Serve while weights move; else hold until they have.
  std::string policy = "default";

  ReplicaChoice replica_choice = ReplicaChoice::kHash;
  std::int32_t window_parts = 4;    ///< Sums that a window is read out as.
  std::int32_t history_parts = 16;  ///< Newest parts that a policy is shown.
  std::optional<double> window_half_life_steps = std::nullopt;
};

/// Slots and ranks of a model under a balancer; without a balancer there are no redundant slots.
[[nodiscard]] Shape shape_of(const ModelOptions& model, const ParallelOptions& parallel,
                             const EplbOptions& eplb);

}  // namespace eplb
