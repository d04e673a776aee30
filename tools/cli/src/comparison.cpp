#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "eplb/config/group.hpp"
#include "eplb/core/option_rules.hpp"
#include "eplb/placement/registry.hpp"

namespace eplb::cli {
namespace {

/// What a configuration allows.
constexpr std::int64_t kStepIntervalMax = 10'000'000;

constexpr double kMsPerNs = 1e-6;

std::vector<std::int32_t> step_intervals(std::int64_t own) {
  const std::array<std::int64_t, 3> wanted{(own + 1) / 3, own, 3 * own};  // A third, rounded.
  std::vector<std::int32_t> intervals;
  intervals.reserve(wanted.size());
  for (const std::int64_t steps : wanted) {
    const auto legal =
        static_cast<std::int32_t>(std::clamp(steps, std::int64_t{1}, kStepIntervalMax));
    if (std::ranges::find(intervals, legal) == intervals.end()) {
      intervals.push_back(legal);
    }
  }
  return intervals;
}

/// Factor of the standard error in a two-sided 95 % interval.
double student_t_95(std::size_t sample_count) {
  const boost::math::students_t distribution(static_cast<double>(sample_count - 1));
  return boost::math::quantile(boost::math::complement(distribution, 0.025));
}

double mean_of(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// The mean of what `value` reads of each result.
template <typename Value>
double mean_value(std::span<const sim::SimulationResult> results, const Value& value) {
  const double sum = std::transform_reduce(results.begin(), results.end(), 0.0, std::plus<>(),
                                           [&](const auto& result) { return value(result); });
  return sum / static_cast<double>(results.size());
}

std::optional<double> moved_bytes_per_rearrangement(
    std::span<const sim::SimulationResult> results) {
  double bytes = 0;
  std::size_t count = 0;
  for (const sim::SimulationResult& result : results) {
    count += result.rearrangements.size();
    for (const sim::RearrangementReport& report : result.rearrangements) {
      bytes += static_cast<double>(report.rearrangement.moved_bytes);
    }
  }
  return count > 0 ? std::optional(bytes / static_cast<double>(count)) : std::nullopt;
}

}  // namespace

std::vector<Arm> arms_of(const EplbOptions& options) {
  const std::vector<std::int32_t> intervals = step_intervals(options.step_interval);
  std::vector<Arm> arms;
  for (const std::string_view policy : placement::policy_names()) {
    if (placement::is_for_research(policy)) {
      continue;
    }
    for (const std::int32_t interval : intervals) {
      arms.push_back({.policy = std::string(policy), .step_interval = interval});
    }
  }
  return arms;
}

sim::Scenario arm_scenario(const sim::Scenario& scenario, const std::optional<Arm>& arm,
                           std::uint64_t seed) {
  sim::Scenario own = arm.has_value() ? scenario : sim::without_eplb(scenario);
  own.run.seed = seed;
  if (arm.has_value()) {
    own.eplb.enabled = true;
    own.eplb.policy = arm->policy;
    own.eplb.step_interval = arm->step_interval;
  }
  return own;
}

RunMeans means_of(std::span<const sim::SimulationResult> results) {
  using Run = sim::SimulationResult;
  const auto mean = [&](auto value) { return mean_value(results, value); };
  return {
      .throughput_tokens_per_s = mean([](const Run& run) { return run.throughput_tokens_per_s; }),
      .step_ms = mean([](const Run& run) { return run.step.mean_ms; }),
      .balancedness = mean([](const Run& run) { return run.balancedness.mean; }),
      .breakdown = {.mega_moe_ms = mean([](const Run& run) { return run.breakdown.mega_moe_ms; }),
                    .others_ms = mean([](const Run& run) { return run.breakdown.others_ms; }),
                    .idle_ms = mean([](const Run& run) { return run.breakdown.idle_ms; }),
                    .eplb_ms = mean([](const Run& run) { return run.breakdown.eplb_ms; })},
      .contention_ms = mean([](const Run& run) {
        return static_cast<double>(run.slowed_ns) * kMsPerNs / static_cast<double>(run.steps);
      }),
      .moved_bytes_per_rearrangement = moved_bytes_per_rearrangement(results),
      .redundant_bytes = results.front().memory.redundant_bytes,
      .landing_bytes = results.front().memory.landing_bytes};
}

std::optional<double> Gain::low() const {
  return half_width.has_value() ? std::optional(mean - *half_width) : std::nullopt;
}

std::optional<double> Gain::high() const {
  return half_width.has_value() ? std::optional(mean + *half_width) : std::nullopt;
}

Gain gain_of(std::span<const double> samples) {
  Gain gain{.mean = mean_of(samples), .standard_error = std::nullopt, .half_width = std::nullopt};
  if (samples.size() > 1) {
    double squares = 0;
    for (const double sample : samples) {
      squares += (sample - gain.mean) * (sample - gain.mean);
    }
    const auto count = static_cast<double>(samples.size());
    gain.standard_error = std::sqrt(squares / (count - 1) / count);
    gain.half_width = *gain.standard_error * student_t_95(samples.size());
  }
  return gain;
}

Gain paired_gain(std::span<const sim::SimulationResult> off,
                 std::span<const sim::SimulationResult> on) {
  std::vector<double> samples;
  samples.reserve(on.size());
  for (std::size_t index = 0; index < on.size(); ++index) {
    samples.push_back(on[index].throughput_tokens_per_s / off[index].throughput_tokens_per_s - 1);
  }
  return gain_of(samples);
}

Verdict verdict_of(const Gain& gain) {
  if (gain.half_width.has_value() && *gain.low() > 0) {
    return Verdict::kPays;
  }
  if (gain.half_width.has_value() && *gain.high() < 0) {
    return Verdict::kDoesNotPay;
  }
  return Verdict::kUndecided;
}

Result<ArmComparison> compare_arms(const sim::Scenario& scenario, const CompareOptions& options) {
  const std::vector<Arm> arms = arms_of(scenario.eplb);
  if (!scenario.eplb.enabled) {
    // Only what is switched on has been checked.
    const sim::Scenario on = arm_scenario(scenario, arms.front(), scenario.run.seed);
    if (auto valid = validate(on.eplb, config::group_of(on)); !valid) {
      return tl::unexpected(valid.error());
    }
  }
  const auto seed_count = static_cast<std::size_t>(options.seed_count);
  const auto seed_of = [&](std::size_t index) { return scenario.run.seed + index; };
  // The runs of an arm follow each other; those without EPLB come first.
  const RunBatch batch{
      .run_count = (arms.size() + 1) * seed_count,
      .step_total = scenario.run.steps * static_cast<std::int64_t>((arms.size() + 1) * seed_count),
      .scenario_of = [&](std::size_t run) {
        const std::size_t arm = run / seed_count;
        return arm_scenario(scenario, arm > 0 ? std::optional(arms[arm - 1]) : std::nullopt,
                            seed_of(run % seed_count));
      }};
  const auto results = simulate_batch(batch, options.batch);
  if (!results) {
    return tl::unexpected(results.error());
  }
  const std::span<const sim::SimulationResult> runs(*results);
  const auto off = runs.first(seed_count);
  ArmComparison comparison{
      .steps = scenario.run.steps, .seeds = {}, .off = means_of(off), .arms = {}, .best = 0};
  comparison.seeds.reserve(seed_count);
  for (std::size_t index = 0; index < seed_count; ++index) {
    comparison.seeds.push_back(seed_of(index));
  }
  comparison.arms.reserve(arms.size());
  for (std::size_t index = 0; index < arms.size(); ++index) {
    const auto on = runs.subspan((index + 1) * seed_count, seed_count);
    comparison.arms.push_back(
        {.arm = arms[index], .gain = paired_gain(off, on), .means = means_of(on)});
  }
  const auto best = std::ranges::max_element(
      comparison.arms, {}, [](const ArmResult& result) { return result.gain.mean; });
  comparison.best = static_cast<std::size_t>(best - comparison.arms.begin());
  return comparison;
}

}  // namespace eplb::cli
