#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/simulation.hpp"
#include "run_batch.hpp"

namespace eplb::cli {

/// One way to run EPLB.
struct Arm {
  std::string policy;
  std::int32_t step_interval = 0;

  friend bool operator==(const Arm&, const Arm&) = default;
};

/// Every policy of the program at the options' own step interval, a third of it and three times it.
[[nodiscard]] std::vector<Arm> arms_of(const EplbOptions& options);

/// The scenario with EPLB as `arm` has it, or without EPLB where there is none, under another seed.
[[nodiscard]] sim::Scenario arm_scenario(const sim::Scenario& scenario,
                                         const std::optional<Arm>& arm, std::uint64_t seed);

/// Means over the seeds of one arm's runs.
struct RunMeans {
  double throughput_tokens_per_s = 0;
  double step_ms = 0;
  double balancedness = 0;
  sim::StepBreakdown breakdown;
  double contention_ms = 0;  ///< Of the breakdown's eplb_ms: forwards slowed by copies beside them.
  /// On all ranks together; none where no rearrangement moved anything.
  std::optional<double> moved_bytes_per_rearrangement;
  std::int64_t redundant_bytes = 0;  ///< On each rank, and
  std::int64_t landing_bytes = 0;    ///< of the rows that receive weights.
};

/// `results` must not be empty.
[[nodiscard]] RunMeans means_of(std::span<const sim::SimulationResult> results);

/// A gain in throughput as a share, 0.05 for 5 % more tokens/s: its mean over seeds, and how sure
/// that is. One seed says nothing of that.
struct Gain {
  double mean = 0;
  std::optional<double> standard_error;
  std::optional<double> half_width;  ///< Of the 95 % interval by Student's t.

  [[nodiscard]] std::optional<double> low() const;
  [[nodiscard]] std::optional<double> high() const;
};

/// Of one sample a seed; `samples` must not be empty.
[[nodiscard]] Gain gain_of(std::span<const double> samples);

/// The gain of runs over those without EPLB on the same seeds, in the same order. What the seeds
/// have in common cancels in each pair.
[[nodiscard]] Gain paired_gain(std::span<const sim::SimulationResult> off,
                               std::span<const sim::SimulationResult> on);

enum class Verdict : std::uint8_t {
  kPays,
  kDoesNotPay,
  kUndecided,  ///< The interval holds 0, or there is none.
};

[[nodiscard]] Verdict verdict_of(const Gain& gain);

struct ArmResult {
  Arm arm;
  Gain gain;
  RunMeans means;
};

struct ArmComparison {
  std::int64_t steps = 0;            ///< Of each run, those before EPLB has done anything included.
  std::vector<std::uint64_t> seeds;  ///< The same for all arms.
  RunMeans off;
  std::vector<ArmResult> arms;
  std::size_t best = 0;  ///< The arm with the largest mean gain, the first of equals.
};

struct CompareOptions {
  std::int32_t seed_count = 3;  ///< From the scenario's own on.
  BatchOptions batch;
};

/// Runs the scenario without EPLB and in every arm. kInvalidConfig if EPLB is off in it and cannot
/// be switched on; else the errors of sim::simulate.
[[nodiscard]] Result<ArmComparison> compare_arms(const sim::Scenario& scenario,
                                                 const CompareOptions& options);

}  // namespace eplb::cli
