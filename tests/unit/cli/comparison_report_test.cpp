// Goal: the sentences of a comparison say the verdict, the best arm and what dominates. Method:
// comparisons made up for the purpose, and whole sentences.
#include "comparison_report.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eplb::cli {
namespace {

Gain gain(double mean, double half_width) {
  return {.mean = mean, .standard_error = half_width / 4, .half_width = half_width};
}

/// One arm against a step of 40 ms, half of it in expert layers.
ArmComparison comparison_of(const Gain& gain, const RunMeans& means) {
  ArmComparison comparison;
  comparison.steps = 1500;
  comparison.off.step_ms = 40;
  comparison.off.breakdown.mega_moe_ms = 20;
  comparison.arms = {
      {.arm = {.policy = "default", .step_interval = 3000}, .gain = gain, .means = means}};
  return comparison;
}

RunMeans means_of_step(const sim::StepBreakdown& breakdown) {
  RunMeans means;
  means.breakdown = breakdown;
  means.moved_bytes_per_rearrangement = 1e9;
  return means;
}

ParameterEffect effect(std::string parameter, const Gain& low, const Gain& high) {
  return {.parameter = std::move(parameter), .value = 1, .low = low, .high = high, .swing = 0};
}

TEST_CASE("the sentence of a gain names its interval, arm, cause and price") {
  RunMeans means = means_of_step({.mega_moe_ms = 17.9, .eplb_ms = 0.05});
  means.redundant_bytes = 1'234'000'000;
  means.landing_bytes = 45'600'000;
  CHECK(verdict_sentence(comparison_of(gain(0.049, 0.003), means)) ==
        "EPLB pays: +4.90 % +- 0.30 % tokens/s with policy default every 3000 steps; what "
        "dominates: the expert layers shrink by 2.1 ms of a 40 ms step, EPLB itself costs 50 us. "
        "Its price in memory on each rank: 1.23 GB of redundant weights and 45.6 MB of landing "
        "rows.");
}

TEST_CASE("the sentence of a loss begins with what it comes from") {
  const RunMeans means = means_of_step({.mega_moe_ms = 20.2, .eplb_ms = 0.5});
  CHECK(verdict_sentence(comparison_of(gain(-0.01, 0.002), means)) ==
        "EPLB does not pay: -1.00 % +- 0.20 % tokens/s with policy default every 3000 steps, the "
        "best of all; what dominates: EPLB itself costs 0.5 ms of a 40 ms step, the expert layers "
        "grow by 0.2 ms.");
}

TEST_CASE("copies that slow forwards are a cause of their own where they matter") {
  RunMeans means = means_of_step({.mega_moe_ms = 19.8, .eplb_ms = 0.75});
  means.contention_ms = 0.5;
  CHECK(verdict_sentence(comparison_of(gain(-0.01, 0.02), means)) ==
        "undecided: the interval holds 0: -1.00 % +- 2.00 % tokens/s with policy default every "
        "3000 steps; what dominates: copies beside forwards slow them by 0.5 ms of a 40 ms step, "
        "EPLB itself costs 0.25 ms, the expert layers shrink by 0.2 ms.");
}

TEST_CASE("one seed is undecided, and an arm without a rearrangement says so") {
  RunMeans means = means_of_step({.mega_moe_ms = 19});
  means.moved_bytes_per_rearrangement = std::nullopt;
  CHECK(verdict_sentence(
            comparison_of({.mean = 0.02, .standard_error = {}, .half_width = {}}, means)) ==
        "undecided: one seed gives no interval: +2.00 % tokens/s with policy default every 3000 "
        "steps, which moves nothing in 1500 steps; what dominates: the expert layers shrink by 1 "
        "ms of a 40 ms "
        "step, EPLB itself costs 0 us.");
}

TEST_CASE("the sensitivity's sentence names every parameter that flips the verdict, and where") {
  const Gain pays = gain(0.05, 0.01);
  const Gain undecided = gain(0.005, 0.01);
  const Gain loses = gain(-0.05, 0.01);
  const std::vector<ParameterEffect> stable{effect("a", pays, pays), effect("b", pays, pays)};
  CHECK(sensitivity_sentence(stable, Verdict::kPays) ==
        "The verdict survives +-20 % of every parameter.");
  const std::vector<ParameterEffect> flips{effect("a", undecided, pays), effect("b", pays, pays),
                                           effect("c", loses, undecided)};
  CHECK(sensitivity_sentence(flips, Verdict::kPays) ==
        "What flips the verdict: a at -20 % (undecided), c at -20 % (does not pay), c at +20 % "
        "(undecided).");
  CHECK_FALSE(flips[0].survives(Verdict::kPays));
  CHECK(flips[1].survives(Verdict::kPays));
  const std::vector<ParameterEffect> open{effect("a", undecided, undecided)};
  CHECK(sensitivity_sentence(open, Verdict::kUndecided) ==
        "The verdict stays undecided at +-20 % of every parameter.");
}

}  // namespace
}  // namespace eplb::cli
