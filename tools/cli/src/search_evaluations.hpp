#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>
#include <tuple>

#include "eplb/core/result.hpp"
#include "eplb/placement/options.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::cli {

/// All that a run of a search can be judged by.
inline constexpr std::array kObjectives{
    placement::SearchObjective::kThroughput, placement::SearchObjective::kP99Step,
    placement::SearchObjective::kMemory, placement::SearchObjective::kMovedBytes};

/// What a run measured, in the order of kObjectives, each in its own unit.
using Measured = std::array<double, kObjectives.size()>;

[[nodiscard]] Measured measured_of(const sim::SimulationResult& result);

[[nodiscard]] double value_of(const Measured& measured, placement::SearchObjective objective);

/// Which run: all that its result depends on.
struct EvaluationKey {
  std::uint64_t config_digest = 0;  ///< Of the candidate's configuration.
  std::uint64_t seed = 0;
  std::int64_t steps = 0;

  friend bool operator<(const EvaluationKey& left, const EvaluationKey& right) {
    return std::tie(left.config_digest, left.seed, left.steps) <
           std::tie(right.config_digest, right.seed, right.steps);
  }
};

/// What came of it; the failing branch says why the run failed, which it would do again.
using Evaluation = tl::expected<Measured, std::string>;

using Evaluations = std::map<EvaluationKey, Evaluation>;

/// `{throughput, p99_step, memory, moved_bytes}` or `{failure}`; numbers read back to the last bit.
[[nodiscard]] nlohmann::ordered_json evaluation_json(const Evaluation& evaluation);

/// The inverse. kInvalidArgument if the JSON is none.
[[nodiscard]] Result<Evaluation> read_evaluation(const nlohmann::ordered_json& json);

}  // namespace eplb::cli
