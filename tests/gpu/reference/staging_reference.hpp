#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/gpu/staging.hpp"

namespace eplb::gpu::test {

/// The value of a BF16.
[[nodiscard]] float from_bf16(std::uint16_t bits);

/// The value of an E4M3 code of magnitudes, 0 to 0x7E.
[[nodiscard]] double e4m3_value(unsigned code);

/// E4M3 of a float: ties to even, beyond 448 to 448, NaN to 0x7F.
[[nodiscard]] std::uint8_t to_e4m3(float value);

/// E2M1 of a quotient that IEEE division has rounded, by the published thresholds.
[[nodiscard]] std::uint8_t to_e2m1(float value);

/// Staged activations and their scales, byte for byte.
struct StagedBytes {
  std::vector<std::uint8_t> staged;
  std::vector<std::uint8_t> scales;
};

/// The published arithmetic (eplb-semantics 2.4), group by group, with divisions of the host.
[[nodiscard]] StagedBytes staging_reference(StagingFormat format,
                                            std::span<const std::uint16_t> activations);

}  // namespace eplb::gpu::test
