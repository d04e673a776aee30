// Goal: the arithmetic that avoids division gives what IEEE division gives. Method: NVFP4 codes of
// all 65536 BF16 values under all 126 positive finite E4M3 scales; the scales of all formats for
// all magnitudes that a BF16 or the floor can be. Each on the host and on the device, against the
// reference.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device/quantize.cuh"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "reference/staging_reference.hpp"

namespace eplb::gpu::test {
namespace {

constexpr unsigned kValueCount = 65536;
constexpr unsigned kOctetCount = kValueCount / 8;
constexpr unsigned kBlockSize = 256;

/// Eight BF16 values, each the next one's predecessor in bits.
__host__ __device__ uint4 octet_of(std::uint32_t first) {
  const auto word = [&](std::uint32_t low) { return low | (low + 1) << 16U; };
  return {word(first), word(first + 2), word(first + 4), word(first + 6)};
}

__global__ void nvfp4_kernel(std::uint8_t scale, std::uint32_t* codes) {
  const std::uint32_t octet = blockIdx.x * kBlockSize + threadIdx.x;
  codes[octet] = device::E2m1Encoder(device::from_e4m3(scale))(octet_of(octet * 8));
}

/// The bits of a format's scale for a group with this largest magnitude.
__host__ __device__ std::uint32_t scale_bits(StagingFormat format, float amax) {
  switch (format) {
    case StagingFormat::kMxfp8:
      return device::mxfp8_exponent(fmaxf(amax, 1e-4F));
    case StagingFormat::kFp8:
      return __builtin_bit_cast(std::uint32_t, device::fp8_scale(fmaxf(amax, 1e-10F)));
    case StagingFormat::kNvfp4:
      return device::nvfp4_scale(amax);
    case StagingFormat::kBf16:
      break;
  }
  return 0;
}

__global__ void scale_kernel(StagingFormat format, std::uint32_t* scales) {
  const std::uint32_t bits = blockIdx.x * kBlockSize + threadIdx.x;
  scales[bits] = scale_bits(format, device::upper_of(bits << 16U));
}

std::vector<std::uint32_t> expected_nvfp4(std::uint8_t scale) {
  const auto divisor = static_cast<float>(e4m3_value(scale));
  std::vector<std::uint32_t> codes(kOctetCount, 0);
  for (std::uint32_t value = 0; value < kValueCount; ++value) {
    const std::uint32_t code = to_e2m1(from_bf16(static_cast<std::uint16_t>(value)) / divisor);
    codes[value / 8] |= code << (value % 8 * 4);
  }
  return codes;
}

void test_nvfp4(Checks& checks, const Stream& stream) {
  const DeviceBuffer<std::uint32_t> codes(kOctetCount);
  std::vector<std::uint32_t> host_codes(kOctetCount);
  for (std::uint8_t scale = 1; scale <= 0x7E; ++scale) {
    const std::vector<std::uint32_t> expected = expected_nvfp4(scale);
    const std::string what = "E2M1 under the scale " + std::to_string(scale);
    for (std::uint32_t octet = 0; octet < kOctetCount; ++octet) {
      host_codes[octet] = device::E2m1Encoder(device::from_e4m3(scale))(octet_of(octet * 8));
    }
    checks.expect_equal<std::uint32_t>(host_codes, expected, what + " on the host");
    codes.fill_bytes(0xA5, stream.get());
    nvfp4_kernel<<<kOctetCount / kBlockSize, kBlockSize, 0, stream.get()>>>(scale, codes.data());
    EPLB_CUDA(cudaGetLastError());
    checks.expect_equal<std::uint32_t>(codes.download(stream.get()), expected, what);
  }
}

/// By divisions; MXFP8 the published way, by the bits of a quotient.
std::uint32_t expected_scale(StagingFormat format, float amax) {
  if (format == StagingFormat::kNvfp4) {
    return to_e4m3(std::max(amax / 6.0F, 0x1p-9F));
  }
  if (format == StagingFormat::kFp8) {
    return std::bit_cast<std::uint32_t>(std::max(amax, 1e-10F) / 448.0F);
  }
  const auto bits = std::bit_cast<std::uint32_t>(std::max(amax, 1e-4F) / 448.0F);
  return std::clamp((bits >> 23U) + ((bits & 0x7FFFFFU) != 0 ? 1U : 0U), 1U, 254U);
}

void test_scales(Checks& checks, const Stream& stream, StagingFormat format,
                 const std::string& name) {
  constexpr unsigned kMagnitudeCount = 0x7F80 + 1;  // Up to infinity.
  constexpr unsigned kBlockCount = (kMagnitudeCount + kBlockSize - 1) / kBlockSize;
  const DeviceBuffer<std::uint32_t> scales(kBlockCount * kBlockSize);
  scale_kernel<<<kBlockCount, kBlockSize, 0, stream.get()>>>(format, scales.data());
  EPLB_CUDA(cudaGetLastError());
  std::vector<std::uint32_t> actual = scales.download(stream.get());
  actual.resize(kMagnitudeCount);
  std::vector<std::uint32_t> on_host;
  std::vector<std::uint32_t> expected;
  for (unsigned bits = 0; bits < kMagnitudeCount; ++bits) {
    const float amax = from_bf16(static_cast<std::uint16_t>(bits));
    on_host.push_back(scale_bits(format, amax));
    expected.push_back(expected_scale(format, amax));
  }
  checks.expect_equal<std::uint32_t>(on_host, expected, name + " scales on the host");
  checks.expect_equal<std::uint32_t>(actual, expected, name + " scales");
}

}  // namespace

void test_quantize(Checks& checks, const Setting& /*setting*/) {
  const Stream stream;
  test_nvfp4(checks, stream);
  test_scales(checks, stream, StagingFormat::kMxfp8, "MXFP8");
  test_scales(checks, stream, StagingFormat::kFp8, "FP8");
  test_scales(checks, stream, StagingFormat::kNvfp4, "NVFP4");
}

}  // namespace eplb::gpu::test
