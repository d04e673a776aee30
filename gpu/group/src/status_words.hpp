#pragma once

#include <array>
#include <cstdint>

#include "board_layout.hpp"
#include "eplb/core/failure.hpp"
#include "eplb/core/status.hpp"

namespace eplb::group {

using StatusWords = std::array<std::uint64_t, kStatusWordCount>;

/// A status but for its rank, which its log tells.
[[nodiscard]] StatusWords pack(const Status& status);
[[nodiscard]] Status unpack(RankId rank, const StatusWords& words);

/// A failure in one word, not 0 if it has a cause: ranks and layers up to kPackedIdMax.
[[nodiscard]] std::uint64_t pack(const Failure& failure);
[[nodiscard]] Failure unpack_failure(std::uint64_t word);

inline constexpr std::int32_t kPackedIdMax = (1 << 24) - 2;

/// Retired layers of a rearrangement, of which 2^40 can be told apart.
[[nodiscard]] std::uint64_t pack_retired(std::int64_t rearrangement, std::int32_t layers);
[[nodiscard]] std::int64_t retired_rearrangement(std::uint64_t word);
[[nodiscard]] std::int32_t retired_layers(std::uint64_t word);

}  // namespace eplb::group
