#pragma once

// The arithmetic of the staging formats, on eight BF16 values at a time: a thread's 16 bytes.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace eplb::gpu::device {

inline constexpr float kE4m3Max = 448.0F;
inline constexpr float kE2m1Max = 6.0F;

/// Two neighbouring BF16 values of a 32-bit word.
__host__ __device__ inline float lower_of(std::uint32_t word) {
  return __builtin_bit_cast(float, word << 16U);
}

__host__ __device__ inline float upper_of(std::uint32_t word) {
  return __builtin_bit_cast(float, word & 0xFFFF0000U);
}

__host__ __device__ inline __nv_bfloat162 pair_of(std::uint32_t word) {
  return __nv_bfloat162(__builtin_bit_cast(__nv_bfloat162_raw, word));
}

/// The largest magnitude among the values of `kLanes` neighbouring threads, but at least `floor`.
/// NaN does not count. All lanes of the warp must call.
template <int kLanes>
__device__ float group_amax(const uint4& words, float floor) {
  __nv_bfloat162 amax = __hmax2(__hmax2(__habs2(pair_of(words.x)), __habs2(pair_of(words.y))),
                                __hmax2(__habs2(pair_of(words.z)), __habs2(pair_of(words.w))));
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    amax = __hmax2(amax, __shfl_xor_sync(0xFFFFFFFFU, amax, distance));
  }
  return fmaxf(fmaxf(__low2float(amax), __high2float(amax)), floor);
}

/// The exponent byte of amax / 448 rounded up to a power of two, within [1, 254].
///
/// NOTE [exponent without division] 448 is 1.75 * 2^8: the quotient needs the next power of two
/// exactly if the mantissa of amax is above 1.75, whose bits are 0x600000. No float is so near to
/// 1.75 that rounding the quotient would hide the difference.
__host__ __device__ inline std::uint32_t mxfp8_exponent(float amax) {
  const auto bits = __builtin_bit_cast(std::uint32_t, amax);
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  if (bits >= kInfinity) {
    return 254U;
  }
  const std::uint32_t exponent = (bits + 0x1FFFFFU) >> 23U;
  return exponent > 9U ? exponent - 8U : 1U;
}

/// 2^(127 - exponent), for an exponent byte of [1, 254]; the last is below the normal floats.
__host__ __device__ inline float mxfp8_factor(std::uint32_t exponent) {
  return __builtin_bit_cast(float, exponent == 254U ? 0x00400000U : (254U - exponent) << 23U);
}

__device__ inline std::uint32_t e4m3_pair(float lower, float upper) {
  return __nv_cvt_float2_to_fp8x2(make_float2(lower, upper), __NV_SATFINITE, __NV_E4M3);
}

/// Applies `scaled` to eight values and rounds them to E4M3: ties to even, beyond 448 to 448.
template <typename Scaled>
__device__ uint2 e4m3_octet(const uint4& words, const Scaled& scaled) {
  const auto pair = [&](std::uint32_t word) {
    return e4m3_pair(scaled(lower_of(word)), scaled(upper_of(word)));
  };
  return {pair(words.x) | pair(words.y) << 16U, pair(words.z) | pair(words.w) << 16U};
}

/// Divides by one scale many times, each quotient as IEEE division rounds it: a product with the
/// reciprocal, and one step of correction by the exact remainder (P. Markstein). What underflows on
/// the way is far below the least E4M3. The correction would turn -0 into +0, so the sign is the
/// value's. With an infinite scale finite values give 0, others NaN.
struct Divider {
  float divisor;
  float reciprocal;

  __host__ __device__ explicit Divider(float scale)
      : divisor(isinf(scale) ? 0.0F : scale), reciprocal(1.0F / scale) {}

  __host__ __device__ float operator()(float value) const {
    const float quotient = value * reciprocal;
    return copysignf(fmaf(fmaf(-quotient, divisor, value), reciprocal, quotient), value);
  }
};

__host__ __device__ inline float reciprocal_about(float value) {
#if defined(__CUDA_ARCH__)
  float reciprocal = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(value));
  return reciprocal;
#else
  return 1.0F / value;
#endif
}

/// Clamped to [0, 1]; NaN becomes 0.
__host__ __device__ inline float saturated(float value) {
#if defined(__CUDA_ARCH__)
  return __saturatef(value);
#else
  return value > 0.0F ? (value < 1.0F ? value : 1.0F) : 0.0F;
#endif
}

/// Two BF16 values over an E4M3 scale as E2M1 codes, in bits 0..3 and 16..19; `reciprocal` is about
/// 1 / (6 scale).
///
/// NOTE [E2M1 without a convert] The result is that of IEEE division and rounding to nearest even:
/// - A quotient of 8 over 4 significant bits either equals a threshold or is off by more than one
///   part in 256. A product with a reciprocal is off by some 2^-22 of itself, and rounding it to
///   half precision snaps what is a tie back onto the tie, and moves nothing else across one.
/// - Scaled by 2^-14, E2M1's exponents are those of half precision, its subnormals among them, so a
///   code is the upper bits of the half: integer rounding to even at bit 9 rounds both alike.
/// - What is beyond 6 is clamped to 6 before, as 1 in units of 6, by the multiply itself, which
///   also turns NaN into 0. The sign stands if the value is below 0, so -0 becomes +0.
__host__ __device__ inline std::uint32_t e2m1_pair(std::uint32_t word, float reciprocal) {
  constexpr float kHalfScale = kE2m1Max * 0x1p-14F;
  const float lower = saturated(fabsf(lower_of(word)) * reciprocal) * kHalfScale;
  const float upper = saturated(fabsf(upper_of(word)) * reciprocal) * kHalfScale;
  const __half2_raw raw = __floats2half2_rn(lower, upper);
  const auto halves = __builtin_bit_cast(std::uint32_t, raw);
  const std::uint32_t odd = (halves >> 9U) & 0x00010001U;
  const std::uint32_t codes = ((halves + odd + 0x00FF00FFU) >> 9U) & 0x00070007U;
  const std::uint32_t negative = __hlt2_mask(pair_of(word), __nv_bfloat162{0.0F, 0.0F});
  return codes | (negative & 0x00080008U);
}

/// Eight values as E2M1, the first in the lowest bits.
__host__ __device__ inline std::uint32_t e2m1_octet(const uint4& words, float scale) {
  const float reciprocal = reciprocal_about(kE2m1Max * scale);
  const auto byte = [&](std::uint32_t word) {
    const std::uint32_t codes = e2m1_pair(word, reciprocal);
    return (codes | codes >> 12U) & 0xFFU;
  };
  return byte(words.x) | byte(words.y) << 8U | byte(words.z) << 16U | byte(words.w) << 24U;
}

__host__ __device__ inline float from_e4m3(std::uint8_t code) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}

/// The E4M3 scale of a group of 16: amax / 6, at least 2^-9.
__host__ __device__ inline std::uint8_t nvfp4_scale(float amax) {
  return __nv_cvt_float_to_fp8(fmaxf(amax / kE2m1Max, 0x1p-9F), __NV_SATFINITE, __NV_E4M3);
}

}  // namespace eplb::gpu::device
