#pragma once

#include <cstdint>
#include <optional>

#include "eplb/core/balancer.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/trigger.hpp"

namespace eplb {

/// kInvalidArgument or kInvalidConfig with all that is wrong.
[[nodiscard]] Result<void> check(const Balancer::Settings& settings);

/// Rows of each rank's landing pool. Needs valid settings.
[[nodiscard]] std::int32_t landing_rows_of(const Balancer::Settings& settings);

/// Steps that the newest window is a sum over, each by its weight, at least 1
/// (PolicyProblem::window_steps).
[[nodiscard]] double window_steps(const EplbOptions& options, const TriggerMemory& memory);

/// What the trigger of that rearrangement has to go by; none if the settings have no trigger.
[[nodiscard]] std::optional<TriggerProblem> trigger_problem(const Balancer::Settings& settings,
                                                            const TriggerMemory& memory,
                                                            std::int64_t rearrangement);

/// What must be equal on all ranks of a group before they serve together.
[[nodiscard]] std::uint64_t digest_of(const Balancer::Settings& settings,
                                      const Balancer::Snapshot& start);

}  // namespace eplb
