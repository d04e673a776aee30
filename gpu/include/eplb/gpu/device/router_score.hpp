#pragma once

// The router's arithmetic, included by the kernel and by the reference of the host.
//
// NOTE [equal bits] A library's exp differs from another's in the last bit, and a compiler may fuse
// a product and a sum. Here every step is an operation that IEEE rounds, named one by one, so host
// and device agree on every bit, on which choice stands behind which, and on what is a tie.

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/router.hpp"

namespace eplb::gpu::device {

/// a * b + c, rounded once.
[[nodiscard]] EPLB_HOST_DEVICE inline float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fmaf(a, b, c);
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline float sum_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline float product_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline float quotient_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline float reciprocal_of(float value) {
#if defined(__CUDA_ARCH__)
  return __frcp_rn(value);
#else
  return 1.0F / value;
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline float root_of(float value) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}

[[nodiscard]] EPLB_HOST_DEVICE inline bool is_nan(float value) {
  return value != value;
}

[[nodiscard]] EPLB_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

[[nodiscard]] EPLB_HOST_DEVICE inline float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

[[nodiscard]] EPLB_HOST_DEVICE inline float infinity() {
  return float_of(0x7F800000U);
}

[[nodiscard]] EPLB_HOST_DEVICE inline float logit_value(float logit) {
  return logit;
}

/// A BF16 is the upper half of its float.
[[nodiscard]] EPLB_HOST_DEVICE inline float logit_value(std::uint16_t logit) {
  return float_of(static_cast<std::uint32_t>(logit) << 16U);
}

/// e^value within one unit in the last place; 0 below e^-87, before floats would lose digits, and
/// NaN for NaN. As 2^n * e^r with |r| <= ln(2) / 2, by a minimax polynomial of e^r: relative error
/// 3.1e-9 before rounding.
[[nodiscard]] EPLB_HOST_DEVICE inline float exp_of(float value) {
  constexpr float kMin = -87.0F;
  constexpr float kMax = 0x1.62E42EP+6F;  // The last whose exponential is finite, 88.72.
  constexpr float kLog2E = 0x1.715476P+0F;
  constexpr float kLn2 = 0x1.62E43P-1F;
  constexpr float kLn2Rest = -0x1.05C61P-29F;
  constexpr float kToInteger = 0x1.8P+23F;  // Added, it leaves an integer in the lowest bits.
  const float shifted = fused(value, kLog2E, kToInteger);
  const float power = sum_of(shifted, -kToInteger);
  const float rest = fused(power, -kLn2Rest, fused(power, -kLn2, value));
  float series = 0x1.6A2434P-10F;
  series = fused(series, rest, 0x1.1239E2P-7F);
  series = fused(series, rest, 0x1.5558F2P-5F);
  series = fused(series, rest, 0x1.555492P-3F);
  series = fused(series, rest, 0x1.FFFFFCP-2F);
  series = fused(series, rest, 1.0F);
  series = fused(series, rest, 1.0F);
  const float scaled = float_of(bits_of(series) + (bits_of(shifted) << 23U));
  const float bounded = value < kMin ? 0.0F : (value > kMax ? infinity() : scaled);
  return is_nan(value) ? value : bounded;
}

/// log(1 + value) for a value of [0, 1], within two units in the last place, by a minimax
/// polynomial of the quotient log(1 + value) / value: relative error 4.8e-9 before rounding.
[[nodiscard]] EPLB_HOST_DEVICE inline float log_of_one_plus(float value) {
  float series = -0x1.A93368P-9F;
  series = fused(series, value, 0x1.453F0EP-6F);
  series = fused(series, value, -0x1.D29CCAP-5F);
  series = fused(series, value, 0x1.B2536P-4F);
  series = fused(series, value, -0x1.397562P-3F);
  series = fused(series, value, 0x1.92F696P-3F);
  series = fused(series, value, -0x1.FF0F88P-3F);
  series = fused(series, value, 0x1.554C8P-2F);
  series = fused(series, value, -0x1.FFFFBEP-2F);
  series = fused(series, value, 1.0F);
  return product_of(series, value);
}

/// Within three units in the last place.
[[nodiscard]] EPLB_HOST_DEVICE inline float sigmoid_of(float logit) {
  return reciprocal_of(sum_of(1.0F, exp_of(-logit)));
}

/// Within two units in the last place. An infinite logit counts as the largest float, so that
/// weights can be renormalized.
[[nodiscard]] EPLB_HOST_DEVICE inline float sqrt_softplus_of(float logit) {
  const float finite = logit > FLT_MAX ? FLT_MAX : logit;
  const float positive = finite > 0.0F ? finite : 0.0F;
  const float tail = log_of_one_plus(exp_of(finite > 0.0F ? -finite : finite));
  return root_of(sum_of(positive, tail));
}

/// What a softmax needs of the whole row: its greatest logit that is a number, and one over the sum
/// of the exponentials.
///
/// NOTE [order of a softmax's sum] Within a group of experts, expert i belongs to lane (i / 4) %
/// lanes, where a group has 32 / groups lanes, and the groups' lanes follow one another. A lane
/// adds its experts in their order; then lanes 16, 8, 4, 2 and 1 apart add to each other.
struct SoftmaxRow {
  float maximum = 0;
  float factor = 0;
};

/// e^(logit - maximum). A logit that is the maximum gives 1, though both be infinite.
[[nodiscard]] EPLB_HOST_DEVICE inline float softmax_term(float logit, float maximum) {
  return logit == maximum ? 1.0F : exp_of(sum_of(logit, -maximum));
}

/// The score of a logit; NaN for NaN.
[[nodiscard]] EPLB_HOST_DEVICE inline float score_of(RouterScoring scoring, float logit,
                                                     const SoftmaxRow& row) {
  switch (scoring) {
    case RouterScoring::kSoftmax:
      return product_of(softmax_term(logit, row.maximum), row.factor);
    case RouterScoring::kSigmoid:
      return sigmoid_of(logit);
    case RouterScoring::kSqrtSoftplus:
      return sqrt_softplus_of(logit);
  }
  return 0.0F;
}

/// Added to the sum of a row's weights, which may be 0.
inline constexpr float kWeightSumGuard = 1e-20F;

/// The keys that are no scores: an expert that is not to be chosen, and one that comes last.
inline constexpr std::uint32_t kNoKey = 0;
inline constexpr std::uint32_t kLastKey = 1;

/// An unsigned number that orders as floats do, NaN before all. Of the two zeros scores know +0.
[[nodiscard]] EPLB_HOST_DEVICE inline std::uint32_t choice_key(float value) {
  constexpr std::uint32_t kSign = 0x80000000U;
  const std::uint32_t bits = bits_of(value);
  return is_nan(value) ? kLastKey : bits ^ ((bits & kSign) != 0 ? 0xFFFFFFFFU : kSign);
}

/// The float of a key; -infinity of the keys that are none.
[[nodiscard]] EPLB_HOST_DEVICE inline float choice_value(std::uint32_t key) {
  constexpr std::uint32_t kSign = 0x80000000U;
  const float value = float_of((key & kSign) != 0 ? key ^ kSign : ~key);
  return key <= kLastKey ? -infinity() : value;
}

}  // namespace eplb::gpu::device
