#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/layer_mapping.hpp"

namespace eplb::gpu {

/// Limits of the router's registers.
inline constexpr std::int32_t kTopKMax = 16;
inline constexpr std::int32_t kExpertGroupsMax = 32;

/// What a logit is turned into.
enum class RouterScoring : std::uint8_t {
  kSoftmax,
  kSigmoid,
  kSqrtSoftplus,  ///< sqrt(log(1 + exp(logit))), as DeepSeek-V4 has it.
};

/// How the experts of a group speak for it.
enum class GroupScore : std::uint8_t {
  kMaximum,   ///< By the best of them (DeepSeek-V2).
  kSumOfTwo,  ///< By the two best of them, added (DeepSeek-V3).
};

/// How a model's router chooses among its experts.
struct RouterRule {
  std::int32_t expert_count = 0;
  std::int32_t top_k = 0;
  RouterScoring scoring = RouterScoring::kSoftmax;
  std::int32_t group_count = 1;      ///< A power of two that divides the experts.
  std::int32_t top_group_count = 1;  ///< Groups whose experts can be chosen.
  GroupScore group_score = GroupScore::kSumOfTwo;
  bool is_renormalized = true;  ///< Weights over their sum plus 1e-20.
  float weight_factor = 1.0F;   ///< Multiplied last.
};

/// One layer's rows at the router. All pointers are device memory, and what they point at may
/// change between replays of a graph. `Logit` is float or std::uint16_t, which is BF16; `Id` is
/// std::int32_t or std::int64_t.
///
/// A choice goes by score plus bias, ties to the lowest expert; a weight is the score alone. An
/// expert whose logit or biased score is not a number is chosen last; if it is the logit, the
/// expert weighs 0.
template <typename Logit, typename Id>
struct RouterArguments {
  RouterRule rule;
  const Logit* logits = nullptr;       ///< [rows, experts]
  const float* choice_bias = nullptr;  ///< [experts], or null for none.
  std::int32_t row_count = 0;

  Id* slot_ids = nullptr;             ///< [filled rows, top_k], best first; -1 for padding.
  float* weights = nullptr;           ///< [filled rows, top_k]; 0 for padding.
  Id* logical_ids = nullptr;          ///< [filled rows, top_k], before mapping; null: not written.
  std::int32_t filled_row_count = 0;  ///< Rows from row_count to here are written as padding.

  LayerMapping mapping;  ///< Without a map, slots are the logical ids and nothing is counted.
  const std::uint8_t* is_padding = nullptr;  ///< [rows], not 0: a padding row.
};

/// Chooses each row's experts, weighs, maps and counts them, in one launch that a graph can
/// capture. Slots and counts are those of map_and_record for the same logical ids. No launch
/// without rows to write. Throws std::invalid_argument on a rule or sizes beyond the limits.
template <typename Logit, typename Id>
void route(const RouterArguments<Logit, Id>& arguments, cudaStream_t stream);

/// Every variant of the kernel, as launched for large batches, only logical counts asked for.
[[nodiscard]] std::vector<KernelResources> router_resources();

}  // namespace eplb::gpu
