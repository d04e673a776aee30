#include "staging_reference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "parallel.hpp"

namespace eplb::gpu::test {
namespace {

constexpr unsigned kE4m3MaxCode = 0x7E;
constexpr unsigned kE4m3NanCode = 0x7F;

using Group = std::span<const std::uint16_t>;

std::array<double, kE4m3MaxCode + 1> e4m3_values() {
  std::array<double, kE4m3MaxCode + 1> values{};
  for (unsigned code = 0; code <= kE4m3MaxCode; ++code) {
    const int exponent = static_cast<int>(code >> 3U);
    const double mantissa = code & 7U;
    values[code] =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  }
  return values;
}

/// NaN does not count. Said in so many words, since fmax of a signaling NaN is NaN, and what came
/// before would be forgotten.
float amax_of(Group group, float floor) {
  float amax = floor;
  for (const std::uint16_t bits : group) {
    const float magnitude = std::fabs(from_bf16(bits));
    if (magnitude > amax) {
      amax = magnitude;
    }
  }
  return amax;
}

using Bytes = std::span<std::uint8_t>;

void stage_bf16(Group group, Bytes staged, Bytes /*scales*/) {
  std::memcpy(staged.data(), group.data(), staged.size());
}

void stage_mxfp8(Group group, Bytes staged, Bytes scales) {
  const auto bits = std::bit_cast<std::uint32_t>(amax_of(group, 1e-4F) / 448.0F);
  const std::uint32_t rounded_up = ((bits >> 23U) & 0xFFU) + ((bits & 0x7FFFFFU) != 0 ? 1U : 0U);
  const auto exponent = static_cast<std::uint8_t>(std::clamp(rounded_up, 1U, 254U));
  scales[0] = exponent;
  std::ranges::transform(group, staged.begin(), [&](std::uint16_t value) {
    return to_e4m3(std::ldexp(from_bf16(value), 127 - exponent));
  });
}

void stage_fp8(Group group, Bytes staged, Bytes scales) {
  const float scale = amax_of(group, 1e-10F) / 448.0F;
  std::memcpy(scales.data(), &scale, sizeof(scale));
  std::ranges::transform(group, staged.begin(),
                         [&](std::uint16_t value) { return to_e4m3(from_bf16(value) / scale); });
}

void stage_nvfp4(Group group, Bytes staged, Bytes scales) {
  const std::uint8_t code = to_e4m3(std::fmax(amax_of(group, 0.0F) / 6.0F, 0x1p-9F));
  const auto scale = static_cast<float>(e4m3_value(code));
  scales[0] = code;
  for (std::size_t index = 0; index < staged.size(); ++index) {
    const unsigned low = to_e2m1(from_bf16(group[2 * index]) / scale);
    const unsigned high = to_e2m1(from_bf16(group[2 * index + 1]) / scale);
    staged[index] = static_cast<std::uint8_t>(low | high << 4U);
  }
}

template <typename StageGroup>
StagedBytes by_groups(StagingFormat format, std::span<const std::uint16_t> activations,
                      std::size_t group_size, const StageGroup& stage_group) {
  const auto bytes_of = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
  const auto group_elements = static_cast<std::int64_t>(group_size);
  const std::size_t staged_size = bytes_of(staged_bytes(format, group_elements));
  const std::size_t scales_size = bytes_of(scale_bytes(format, group_elements));
  const std::size_t group_count = activations.size() / group_size;
  StagedBytes out{.staged = std::vector<std::uint8_t>(group_count * staged_size),
                  .scales = std::vector<std::uint8_t>(group_count * scales_size)};
  for_ranges(group_count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      stage_group(activations.subspan(group * group_size, group_size),
                  Bytes(out.staged).subspan(group * staged_size, staged_size),
                  Bytes(out.scales).subspan(group * scales_size, scales_size));
    }
  });
  return out;
}

}  // namespace

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

double e4m3_value(unsigned code) {
  static const auto values = e4m3_values();
  return values.at(code);
}

std::uint8_t to_e4m3(float value) {
  if (std::isnan(value)) {
    return kE4m3NanCode;
  }
  const unsigned sign = std::signbit(value) ? 0x80U : 0U;
  const double magnitude = std::fabs(static_cast<double>(value));
  unsigned below = 0;  // The greatest code whose value is not above the magnitude.
  for (unsigned step = 64; step > 0; step /= 2) {
    if (below + step <= kE4m3MaxCode && e4m3_value(below + step) <= magnitude) {
      below += step;
    }
  }
  if (below < kE4m3MaxCode) {
    const double down = magnitude - e4m3_value(below);
    const double up = e4m3_value(below + 1) - magnitude;
    below += up < down || (up == down && below % 2 == 1) ? 1 : 0;
  }
  return static_cast<std::uint8_t>(sign | below);
}

std::uint8_t to_e2m1(float value) {
  const float magnitude = std::fabs(value);
  const int code = (magnitude > 0.25F ? 1 : 0) + (magnitude >= 0.75F ? 1 : 0) +
                   (magnitude > 1.25F ? 1 : 0) + (magnitude >= 1.75F ? 1 : 0) +
                   (magnitude > 2.5F ? 1 : 0) + (magnitude >= 3.5F ? 1 : 0) +
                   (magnitude > 5.0F ? 1 : 0);
  return static_cast<std::uint8_t>(code + (value < 0 ? 8 : 0));
}

StagedBytes staging_reference(StagingFormat format, std::span<const std::uint16_t> activations) {
  switch (format) {
    case StagingFormat::kMxfp8:
      return by_groups(format, activations, 32, stage_mxfp8);
    case StagingFormat::kFp8:
      return by_groups(format, activations, 128, stage_fp8);
    case StagingFormat::kNvfp4:
      return by_groups(format, activations, 16, stage_nvfp4);
    case StagingFormat::kBf16:
      break;
  }
  return by_groups(format, activations, 128, stage_bf16);
}

}  // namespace eplb::gpu::test
