#pragma once

// The arithmetic of the staging formats, on eight BF16 values at a time: a thread's 16 bytes.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
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

/// The largest magnitude among the values of `kLanes` neighbouring threads; NaN only if all are.
/// All lanes of the warp must call.
template <int kLanes>
__device__ float group_amax(const uint4& words) {
  __nv_bfloat162 amax = __hmax2(__hmax2(__habs2(pair_of(words.x)), __habs2(pair_of(words.y))),
                                __hmax2(__habs2(pair_of(words.z)), __habs2(pair_of(words.w))));
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    amax = __hmax2(amax, __shfl_xor_sync(0xFFFFFFFFU, amax, distance));
  }
  return __bfloat162float(__hmax(__low2bfloat16(amax), __high2bfloat16(amax)));
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

/// Half precision's slope * value + offset, rounded once.
__host__ __device__ inline __half2 fused(float slope, __half2 value, __half2 offset) {
#if defined(__CUDA_ARCH__)
  return __hfma2(__float2half2_rn(slope), value, offset);
#else
  return __floats2half2_rn(slope * __low2float(value) + __low2float(offset),
                           slope * __high2float(value) + __high2float(offset));
#endif
}

/// Half precision's slope * value, at most 1; neither is below 0 or NaN.
__host__ __device__ inline __half2 saturated(float slope, __half2 value) {
#if defined(__CUDA_ARCH__)
  return __hmul2_sat(__float2half2_rn(slope), value);
#else
  return __floats2half2_rn(std::min(slope * __low2float(value), 1.0F),
                           std::min(slope * __high2float(value), 1.0F));
#endif
}

/// Four bytes of the eight of two words, as the nibbles of `selector` name them: bit 3 of a nibble
/// asks for the byte's sign, in all of its bits.
template <std::uint32_t selector>
__host__ __device__ std::uint32_t bytes_of(std::uint32_t first, std::uint32_t second) {
  std::uint32_t bytes = 0;
#if defined(__CUDA_ARCH__)
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(first), "r"(second), "n"(selector));
#else
  const std::uint64_t all = std::uint64_t{second} << 32U | first;
  for (unsigned index = 0; index < 4; ++index) {
    const std::uint32_t nibble = selector >> 4U * index & 0xFU;
    const auto byte = static_cast<std::uint32_t>(all >> (nibble & 0x7U) * 8U & 0xFFU);
    bytes |= (nibble < 8 ? byte : byte >> 7U != 0 ? 0xFFU : 0U) << 8U * index;
  }
#endif
  return bytes;
}

/// Eight values over an E4M3 scale, as E2M1 codes.
///
/// NOTE [E2M1 without a convert] The result is that of IEEE division and rounding to nearest even,
/// two values an instruction throughout:
/// - Magnitudes are clamped to [scale / 8, 6 scale], both BF16, which changes no code and turns NaN
///   into 0. All of that half precision holds too, so that a shift and a sum in integers, over both
///   halves of a word, makes it half precision.
/// - A quotient of 8 over 4 significant bits either equals a threshold or is off by more than one
///   part in 256. The product with half precision's 1 / scale is at most 2^-11.6 of itself too
///   small; with 2^-13 added, rounding to half precision snaps what is a tie back onto the tie, and
///   moves nothing else across one.
/// - E2M1's values have distances 1/2, 1 and 2, from 0, 2 and 4 on, so a code is
///   q / 2 + min(q, 4) / 2 + min(q, 2), rounded to an integer: as half precision rounds when
///   1.5 * 2^10 is added, ties to even, which leaves the integer in the low byte.
/// - The sign stands if the value is below 0: adding +0 turns -0 into +0.
///
/// Products and sums go at twice the pace of logic, shifts, compares and conversions, which is why
/// minima are products that saturate at 1.
struct E2m1Encoder {
  __nv_bfloat162 least;
  __nv_bfloat162 most;
  __half2 reciprocal;

  __host__ __device__ explicit E2m1Encoder(float scale)
      : least(__float2bfloat162_rn(scale * 0.125F)),
        most(__float2bfloat162_rn(scale * kE2m1Max)),
        reciprocal(__float2half2_rn(reciprocal_about(scale))) {}

  /// Codes without their signs, in bytes 0 and 2.
  [[nodiscard]] __host__ __device__ std::uint32_t magnitudes(std::uint32_t word) const {
    constexpr std::uint32_t kBiases = (127U - 15U << 10U) * 0x00010001U;
    const __nv_bfloat162_raw clamped = __hmin2(__hmax2(__habs2(pair_of(word)), least), most);
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, clamped) * 8U - kBiases;
    const __half2 quotients = quotients_of(__half2(__builtin_bit_cast(__half2_raw, bits)));
    const __half2 halved =
        fused(0.25F, quotients, __hadd2(saturated(0.25F, quotients), saturated(0.5F, quotients)));
    const __half2_raw rounded = fused(2.0F, halved, __float2half2_rn(1536.0F));
    return __builtin_bit_cast(std::uint32_t, rounded);
  }

  [[nodiscard]] __host__ __device__ __half2 quotients_of(__half2 values) const {
#if defined(__CUDA_ARCH__)
    return __hfma2(values, reciprocal, __float2half2_rn(0x1p-13F));
#else
    return fused(__low2float(reciprocal), values, __float2half2_rn(0x1p-13F));
#endif
  }

  /// Signs in the uppermost bits of bytes 1 and 3.
  [[nodiscard]] static __host__ __device__ std::uint32_t signs(std::uint32_t word) {
    const __nv_bfloat162_raw value = __hadd2(pair_of(word), __nv_bfloat162{0.0F, 0.0F});
    return __builtin_bit_cast(std::uint32_t, value);
  }

  /// The first value in the lowest bits.
  [[nodiscard]] __host__ __device__ std::uint32_t operator()(const uint4& words) const {
    // Of each two words the bytes of both lower halves, then of both upper ones.
    const std::uint32_t codes[]{bytes_of<0x6240>(magnitudes(words.x), magnitudes(words.y)),
                                bytes_of<0x6240>(magnitudes(words.z), magnitudes(words.w))};
    const std::uint32_t minus[]{bytes_of<0x7351>(signs(words.x), signs(words.y)),
                                bytes_of<0x7351>(signs(words.z), signs(words.w))};
    // All lower halves' codes become the lower four bits of bytes.
    return (bytes_of<0x5410>(codes[0], codes[1]) + bytes_of<0x7632>(codes[0], codes[1]) * 16U) |
           (bytes_of<0xDC98>(minus[0], minus[1]) & 0x08080808U) |
           (bytes_of<0xFEBA>(minus[0], minus[1]) & 0x80808080U);
  }
};

__host__ __device__ inline float from_e4m3(std::uint8_t code) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}

/// The E4M3 scale of a group of 16: amax / 6, at least 2^-9, also if amax is NaN.
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
