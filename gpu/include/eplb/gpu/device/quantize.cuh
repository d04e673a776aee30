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

/// Eight values, `scaled` two at a time, as E4M3: ties to even, beyond 448 to 448.
template <typename Scaled>
__device__ uint2 e4m3_octet(const uint4& words, const Scaled& scaled) {
  const auto pair = [&](std::uint32_t word) {
    const float2 values = scaled(word);
    return e4m3_pair(values.x, values.y);
  };
  return {pair(words.x) | pair(words.y) << 16U, pair(words.z) | pair(words.w) << 16U};
}

/// Two BF16 values times a power of two. BF16 has float's exponents, so the product is exact unless
/// it is far below the least E4M3.
__device__ inline float2 times_power_of_two(std::uint32_t word, float power) {
  const __nv_bfloat162_raw products = __hmul2(pair_of(word), __float2bfloat162_rn(power));
  const auto raw = __builtin_bit_cast(std::uint32_t, products);
  return {lower_of(raw), upper_of(raw)};
}

/// amax / 448 as IEEE division rounds it, for an amax of at least 1e-10: 448 is a constant, so one
/// step of correction by the exact remainder makes the product with its reciprocal that.
__host__ __device__ inline float fp8_scale(float amax) {
  constexpr float kReciprocal = 1.0F / kE4m3Max;
  const float quotient = amax * kReciprocal;
  return isinf(amax) ? amax : fmaf(fmaf(-quotient, kE4m3Max, amax), kReciprocal, quotient);
}

/// Divides by one scale many times, each quotient as IEEE division rounds it: a product with the
/// reciprocal, and one step of correction by the exact remainder (P. Markstein), whose sign is
/// turned twice, since -0 would become +0 otherwise. What underflows on the way is far below the
/// least E4M3. With an infinite scale finite values give 0, others NaN.
struct Divider {
  float divisor;
  float reciprocal;

  __host__ __device__ explicit Divider(float scale)
      : divisor(isinf(scale) ? 0.0F : scale), reciprocal(1.0F / scale) {}

  __host__ __device__ float operator()(float value) const {
    const float quotient = value * reciprocal;
    return fmaf(-fmaf(quotient, divisor, -value), reciprocal, quotient);
  }

  __host__ __device__ float2 operator()(std::uint32_t word) const {
    return {(*this)(lower_of(word)), (*this)(upper_of(word))};
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

/// Half precision's slope * value + offset, rounded once.
__host__ __device__ inline __half2 fused(float slope, __half2 value, float offset) {
#if defined(__CUDA_ARCH__)
  return __hfma2(__float2half2_rn(slope), value, __float2half2_rn(offset));
#else
  return __floats2half2_rn(slope * __low2float(value) + offset,
                           slope * __high2float(value) + offset);
#endif
}

/// Two BF16 values over an E4M3 scale as E2M1 codes, in bits 0..3 and 16..19; `reciprocal` is about
/// 1 / (6 scale).
///
/// NOTE [E2M1 without a convert] The result is that of IEEE division and rounding to nearest even:
/// - A quotient of 8 over 4 significant bits either equals a threshold or is off by more than one
///   part in 256. A product with a reciprocal is off by some 2^-22 of itself, and rounding it to
///   half precision snaps what is a tie back onto the tie, and moves nothing else across one.
/// - E2M1's values have distances 1/2, 1 and 2, from 0, 2 and 4 on, so a code is the least of
///   2 q, 2 + q and 4 + q / 2, each rounded to an integer: as half precision rounds when 1.5 * 2^10
///   is added, ties to even, which leaves the integer in the low bits.
/// - What is beyond 6 is clamped to 6 before, as 1 in units of 6, by the multiply itself, which
///   also turns NaN into 0. The sign stands if the value is below 0: adding +0 turns -0 into +0.
///
/// Most of it is products and sums, since this is bound by the units that do logic and compares.
__host__ __device__ inline std::uint32_t e2m1_pair(std::uint32_t word, float reciprocal) {
  const auto quotient = [&](float value) {
    return saturated(fabsf(value) * reciprocal) * kE2m1Max;
  };
  const __half2 half = __floats2half2_rn(quotient(lower_of(word)), quotient(upper_of(word)));
  const __half2_raw least = __hmin2(
      fused(2.0F, half, 1536.0F), __hmin2(fused(1.0F, half, 1538.0F), fused(0.5F, half, 1540.0F)));
  const __nv_bfloat162_raw value = __hadd2(pair_of(word), __nv_bfloat162{0.0F, 0.0F});
  const std::uint32_t signs = __builtin_bit_cast(std::uint32_t, value) & 0x80008000U;
  return (__builtin_bit_cast(std::uint32_t, least) & 0x00070007U) | signs >> 12U;
}

/// Bytes 2 of two words, in the lower half.
__host__ __device__ inline std::uint32_t third_bytes(std::uint32_t first, std::uint32_t second) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(first, second, 0x4462);
#else
  return (first >> 16U & 0xFFU) | (second >> 8U & 0xFF00U);
#endif
}

/// Eight values as E2M1, the first in the lowest bits.
__host__ __device__ inline std::uint32_t e2m1_octet(const uint4& words, float scale) {
  const float reciprocal = reciprocal_about(kE2m1Max * scale);
  // Puts the codes of bits 0 and 16 side by side into byte 2.
  const auto placed = [&](std::uint32_t word) { return e2m1_pair(word, reciprocal) * 0x00010010U; };
  const std::uint32_t lower = third_bytes(placed(words.x), placed(words.y));
  const std::uint32_t upper = third_bytes(placed(words.z), placed(words.w));
  return (lower & 0xFFFFU) | upper << 16U;
}

__host__ __device__ inline float from_e4m3(std::uint8_t code) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}

/// The E4M3 scale of a group of 16: amax / 6, at least 2^-9.
///
/// NOTE [scale without division] amax has 8 significant bits, and 6 times a threshold between two
/// E4M3 values has 7: a quotient equals the threshold or is off by more than a part in 256. Half
/// precision snaps the product with 1 / 6 onto the tie again, as for E2M1.
__host__ __device__ inline std::uint8_t nvfp4_scale(float amax) {
  const float quotient = fmaxf(amax * (1.0F / kE2m1Max), 0x1p-9F);
  // As a pair, which one instruction converts at full rate.
  const __half2_raw snapped = __floats2half2_rn(quotient, quotient);
  return static_cast<std::uint8_t>(__nv_cvt_halfraw2_to_fp8x2(snapped, __NV_SATFINITE, __NV_E4M3));
}

}  // namespace eplb::gpu::device
