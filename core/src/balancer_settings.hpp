#pragma once

#include <cstdint>

#include "eplb/core/balancer.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// kInvalidArgument or kInvalidConfig with all that is wrong.
[[nodiscard]] Result<void> check(const Balancer::Settings& settings);

/// Rows of each rank's landing pool. Needs valid settings.
[[nodiscard]] std::int32_t landing_rows_of(const Balancer::Settings& settings);

/// What must be equal on all ranks of a group before they serve together.
[[nodiscard]] std::uint64_t digest_of(const Balancer::Settings& settings,
                                      const Balancer::Snapshot& start);

}  // namespace eplb
