// Goal: a comparison's figures are what statistics books say. Method: few samples whose means,
// standard errors and intervals are worked by hand, and results made up for the purpose.
#include "comparison.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace eplb::cli {
namespace {

using doctest::Approx;

sim::SimulationResult result_of(double throughput_tokens_per_s) {
  sim::SimulationResult result;
  result.steps = 100;
  result.throughput_tokens_per_s = throughput_tokens_per_s;
  return result;
}

sim::RearrangementReport moving(std::int64_t bytes) {
  sim::RearrangementReport report;
  report.rearrangement.moved_bytes = bytes;
  return report;
}

/// The intervals that a policy is tried at, the same for all.
std::vector<std::int32_t> intervals_for(std::int32_t own) {
  const std::vector<Arm> arms = arms_of({.step_interval = own});
  std::vector<std::int32_t> intervals;
  for (const Arm& arm : arms) {
    if (arm.policy == arms.front().policy) {
      intervals.push_back(arm.step_interval);
    }
  }
  // deepseek, default, frugal, linear, robust, trtllm; not the peers' ideas that are for research.
  CHECK(arms.size() == intervals.size() * 6);
  return intervals;
}

TEST_CASE("the gain over three seeds has Student's interval of two degrees of freedom") {
  // Deviation 0.01, over the root of 3; the quantile is 4.3027.
  const Gain gain = gain_of(std::vector<double>{0.04, 0.05, 0.06});
  CHECK(gain.mean == Approx(0.05));
  CHECK(*gain.standard_error == Approx(0.0057735).epsilon(1e-5));
  CHECK(*gain.half_width == Approx(0.0248414).epsilon(1e-5));
  CHECK(*gain.low() == Approx(0.0251586).epsilon(1e-5));
  CHECK(*gain.high() == Approx(0.0748414).epsilon(1e-5));
}

TEST_CASE("the interval of two seeds is wide, and one seed has none") {
  // Half the difference is the standard error; the quantile of one degree of freedom is 12.7062.
  const Gain two = gain_of(std::vector<double>{0.01, 0.03});
  CHECK(*two.standard_error == Approx(0.01));
  CHECK(*two.half_width == Approx(0.127062).epsilon(1e-5));
  const Gain one = gain_of(std::vector<double>{0.03});
  CHECK(one.mean == 0.03);
  CHECK_FALSE(one.standard_error.has_value());
  CHECK_FALSE(one.low().has_value());
  CHECK_FALSE(one.high().has_value());
}

TEST_CASE("gains are of pairs: what seeds have in common cancels") {
  // The ratio of the means would be 2310 / 2100, a gain of 0.1; the pairs' are 0.2 and 0.05.
  const std::vector<sim::SimulationResult> off{result_of(700), result_of(1400)};
  const std::vector<sim::SimulationResult> on{result_of(840), result_of(1470)};
  CHECK(paired_gain(off, on).mean == Approx(0.125));
  CHECK(*paired_gain(off, on).standard_error == Approx(0.075));
}

TEST_CASE("the verdict is the sign of an interval without 0") {
  CHECK(verdict_of({.mean = 0.02, .standard_error = 0.01, .half_width = 0.019}) == Verdict::kPays);
  CHECK(verdict_of({.mean = -0.02, .standard_error = 0.01, .half_width = 0.019}) ==
        Verdict::kDoesNotPay);
  CHECK(verdict_of({.mean = 0.02, .standard_error = 0.01, .half_width = 0.021}) ==
        Verdict::kUndecided);
  CHECK(verdict_of({.mean = 0, .standard_error = 0, .half_width = 0}) == Verdict::kUndecided);
  CHECK(verdict_of({.mean = 0.5, .standard_error = {}, .half_width = {}}) == Verdict::kUndecided);
}

TEST_CASE("arms are at a third of the interval, at it and at three times it, each once") {
  CHECK(intervals_for(3000) == std::vector<std::int32_t>{1000, 3000, 9000});
  CHECK(intervals_for(20) == std::vector<std::int32_t>{7, 20, 60});
  CHECK(intervals_for(2) == std::vector<std::int32_t>{1, 2, 6});
  CHECK(intervals_for(1) == std::vector<std::int32_t>{1, 3});
  CHECK(intervals_for(10'000'000) == std::vector<std::int32_t>{3'333'333, 10'000'000});
}

TEST_CASE("an arm's scenario is the given one but for EPLB and the seed") {
  sim::Scenario scenario;
  scenario.eplb = {.enabled = false, .window_size = 7, .step_interval = 20};
  scenario.run = {.steps = 11, .seed = 3};
  const sim::Scenario on = arm_scenario(scenario, Arm{.policy = "trtllm", .step_interval = 60}, 5);
  CHECK(on.eplb.enabled);
  CHECK(on.eplb.policy == "trtllm");
  CHECK(on.eplb.step_interval == 60);
  CHECK(on.eplb.window_size == 7);
  CHECK(on.run.steps == 11);
  CHECK(on.run.seed == 5);
  scenario.eplb.enabled = true;
  const sim::Scenario off = arm_scenario(scenario, std::nullopt, 4);
  CHECK_FALSE(off.eplb.enabled);
  CHECK(off.run.seed == 4);
}

TEST_CASE("means are over seeds, those of moved bytes over rearrangements") {
  std::vector<sim::SimulationResult> results{result_of(100), result_of(300)};
  results[0].step.mean_ms = 2;
  results[1].step.mean_ms = 4;
  results[0].balancedness.mean = 0.5;
  results[1].balancedness.mean = 0.75;
  results[0].breakdown = {.mega_moe_ms = 1, .others_ms = 2, .idle_ms = 3, .eplb_ms = 4};
  results[1].breakdown = {.mega_moe_ms = 3, .others_ms = 6, .idle_ms = 9, .eplb_ms = 12};
  results[0].slowed_ns = 200'000'000;  // 2 ms of each of 100 steps.
  results[0].rearrangements = {moving(10), moving(20)};
  results[1].rearrangements = {moving(60)};
  results[0].memory = {.weights_bytes = 9, .redundant_bytes = 7, .landing_bytes = 5};
  const RunMeans means = means_of(results);
  CHECK(means.throughput_tokens_per_s == 200);
  CHECK(means.step_ms == 3);
  CHECK(means.balancedness == 0.625);
  CHECK(means.breakdown.mega_moe_ms == 2);
  CHECK(means.breakdown.others_ms == 4);
  CHECK(means.breakdown.idle_ms == 6);
  CHECK(means.breakdown.eplb_ms == 8);
  CHECK(means.contention_ms == Approx(1));
  CHECK(*means.moved_bytes_per_rearrangement == 30);
  CHECK(means.redundant_bytes == 7);
  CHECK(means.landing_bytes == 5);
  results[0].rearrangements.clear();
  results[1].rearrangements.clear();
  CHECK_FALSE(means_of(results).moved_bytes_per_rearrangement.has_value());
}

}  // namespace
}  // namespace eplb::cli
