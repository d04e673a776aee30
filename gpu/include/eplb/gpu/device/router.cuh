#pragma once

// A row of logits in the registers of a warp: scores, groups, and the best of them, by shuffles.
// All lanes of the warp must call every function that is not a lane's own.

#include <cstdint>

#include "eplb/gpu/device/router_score.hpp"
#include "eplb/gpu/router.hpp"

namespace eplb::gpu::device {

inline constexpr std::uint32_t kWarpLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFU;

/// Neighbouring experts of one load: 16 bytes of float logits.
inline constexpr int kVectorExperts = 4;

/// The experts whose logits a lane holds: fours of its group, a stride apart.
///
/// NOTE [lanes of a group] Each group of experts lies in lanes of its own, so what a group must
/// know of itself takes a few shuffles among them, whatever the model's sizes. Fours of BF16 are
/// loads of 8 bytes and not of 16: the 384 experts of a row then fill 32 lanes evenly.
struct LaneExperts {
  std::int32_t first;
  std::int32_t stride;
  std::int32_t end;  ///< Of the lane's group.

  __device__ LaneExperts(const RouterRule& rule, std::uint32_t lane) {
    const std::int32_t group_size = rule.expert_count / rule.group_count;
    const std::int32_t group_lanes = static_cast<std::int32_t>(kWarpLanes) / rule.group_count;
    const std::int32_t group = static_cast<std::int32_t>(lane) / group_lanes;
    const std::int32_t place = static_cast<std::int32_t>(lane) % group_lanes;
    first = group * group_size + place * kVectorExperts;
    stride = group_lanes * kVectorExperts;
    end = (group + 1) * group_size;
  }

  [[nodiscard]] __device__ std::int32_t expert(int index) const {
    return first + index / kVectorExperts * stride + index % kVectorExperts;
  }

  [[nodiscard]] __device__ bool holds(int index) const { return expert(index) < end; }
};

__device__ inline float4 load_four(const float* logits) {
  return __ldg(reinterpret_cast<const float4*>(logits));
}

__device__ inline float4 load_four(const std::uint16_t* logits) {
  const uint2 words = __ldg(reinterpret_cast<const uint2*>(logits));
  return {float_of(words.x << 16U), float_of(words.x & 0xFFFF0000U), float_of(words.y << 16U),
          float_of(words.y & 0xFFFF0000U)};
}

/// A lane's own values of a row, `absent` where it holds no expert. Whole fours are loaded at once
/// if every four of the row is aligned to its size.
template <int kVectors, typename Value>
__device__ void load_values(const Value* row, const LaneExperts& experts, bool is_aligned,
                            float absent, float (&values)[kVectors * kVectorExperts]) {
  if (is_aligned) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      const int index = vector * kVectorExperts;
      const float4 four = experts.holds(index) ? load_four(row + experts.expert(index))
                                               : float4{absent, absent, absent, absent};
      values[index] = four.x;
      values[index + 1] = four.y;
      values[index + 2] = four.z;
      values[index + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int index = 0; index < kVectors * kVectorExperts; ++index) {
      values[index] =
          experts.holds(index) ? logit_value(__ldg(row + experts.expert(index))) : absent;
    }
  }
}

/// Turns logits into the terms of a softmax, NaN for NaN.
template <int kValues>
__device__ SoftmaxRow softmax_terms(float (&values)[kValues]) {
  SoftmaxRow row;
  row.maximum = -infinity();
#pragma unroll
  for (const float logit : values) {
    row.maximum = fmaxf(row.maximum, logit);  // Leaves NaN out.
  }
  row.maximum = choice_value(__reduce_max_sync(kAllLanes, choice_key(row.maximum)));
  float sum = 0;
#pragma unroll
  for (float& value : values) {
    value = softmax_term(value, row.maximum);
    sum = sum_of(sum, is_nan(value) ? 0.0F : value);
  }
#pragma unroll
  for (std::uint32_t distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    sum = sum_of(sum, __shfl_xor_sync(kAllLanes, sum, distance));
  }
  row.factor = reciprocal_of(sum);
  return row;
}

/// Turns logits into scores.
template <int kValues>
__device__ SoftmaxRow score_values(RouterScoring scoring, float (&values)[kValues]) {
  SoftmaxRow row;
  if (scoring == RouterScoring::kSoftmax) {
    row = softmax_terms(values);
#pragma unroll
    for (float& value : values) {
      value = product_of(value, row.factor);
    }
  } else if (scoring == RouterScoring::kSigmoid) {
#pragma unroll
    for (float& value : values) {
      value = sigmoid_of(value);
    }
  } else {
#pragma unroll
    for (float& value : values) {
      value = sqrt_softplus_of(value);
    }
  }
  return row;
}

/// A group's key among groups, in all of its lanes.
template <int kValues>
__device__ std::uint32_t group_key(const RouterRule& rule, const std::uint32_t (&keys)[kValues]) {
  std::uint32_t best = kNoKey;
  std::uint32_t second = kNoKey;
#pragma unroll
  for (const std::uint32_t key : keys) {
    second = max(second, min(best, key));
    best = max(best, key);
  }
  for (std::uint32_t distance = kWarpLanes / 2 / static_cast<std::uint32_t>(rule.group_count);
       distance > 0; distance /= 2) {
    const std::uint32_t other_best = __shfl_xor_sync(kAllLanes, best, distance);
    const std::uint32_t other_second = __shfl_xor_sync(kAllLanes, second, distance);
    second = max(min(best, other_best), max(second, other_second));
    best = max(best, other_best);
  }
  return rule.group_score == GroupScore::kMaximum
             ? best
             : choice_key(sum_of(choice_value(best), choice_value(second)));
}

/// Takes the experts of all but the best groups out of the choice.
template <int kValues>
__device__ void keep_top_groups(const RouterRule& rule, std::uint32_t lane,
                                std::uint32_t (&keys)[kValues]) {
  const auto group_count = static_cast<std::uint32_t>(rule.group_count);
  const std::uint32_t group_lanes = kWarpLanes / group_count;
  const std::uint32_t own_group = lane / group_lanes;
  const std::uint32_t own_key = group_key(rule, keys);
  std::int32_t better_count = 0;
  for (std::uint32_t group = 0; group < group_count; ++group) {
    const std::uint32_t key = __shfl_sync(kAllLanes, own_key, group * group_lanes);
    better_count += key > own_key || (key == own_key && group < own_group) ? 1 : 0;
  }
#pragma unroll
  for (std::uint32_t& key : keys) {
    key = better_count < rule.top_group_count ? key : kNoKey;
  }
}

/// The greatest of a lane's keys, and the first place where it stands.
struct LaneBest {
  std::uint32_t key;
  int index;
};

/// As a tree, whose comparisons do not wait for each other.
template <int kFirst, int kCount, int kValues>
__device__ LaneBest lane_best(const std::uint32_t (&keys)[kValues]) {
  if constexpr (kCount == 1) {
    return {keys[kFirst], kFirst};
  } else {
    const LaneBest left = lane_best<kFirst, kCount / 2>(keys);
    const LaneBest right = lane_best<kFirst + kCount / 2, kCount - kCount / 2>(keys);
    const bool is_right = right.key > left.key;
    return {is_right ? right.key : left.key, is_right ? right.index : left.index};
  }
}

/// The best expert, ties to the lowest, which is then out of the choice. A lane's experts ascend,
/// so the first of its equals is its lowest.
template <int kValues>
__device__ std::int32_t take_best(const LaneExperts& experts, std::uint32_t (&keys)[kValues]) {
  constexpr std::uint32_t kNobody = 0xFFFFFFFFU;
  const LaneBest best = lane_best<0, kValues>(keys);
  const bool leads = best.key == __reduce_max_sync(kAllLanes, best.key);
  const auto own = static_cast<std::uint32_t>(experts.expert(best.index));
  const std::uint32_t expert = __reduce_min_sync(kAllLanes, leads ? own : kNobody);
  const int taken_index = leads && own == expert ? best.index : -1;
#pragma unroll
  for (int index = 0; index < kValues; ++index) {
    keys[index] = index == taken_index ? kNoKey : keys[index];
  }
  return static_cast<std::int32_t>(expert);
}

/// The weight of each lane's pick, of a score that may be NaN; lanes past top_k hold none.
__device__ inline float pick_weight(const RouterRule& rule, float score) {
  float weight = is_nan(score) ? 0.0F : score;
  if (rule.is_renormalized) {
    float sum = 0;
    for (std::int32_t pick = 0; pick < rule.top_k; ++pick) {
      sum = sum_of(sum, __shfl_sync(kAllLanes, weight, pick));
    }
    weight = quotient_of(weight, sum_of(sum, kWeightSumGuard));
  }
  return product_of(weight, rule.weight_factor);
}

}  // namespace eplb::gpu::device
