#include "comparison_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "eplb/core/options.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBytesPerGb = 1e9;

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPays:
      return "pays";
    case Verdict::kDoesNotPay:
      return "does not pay";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "";
}

std::string percent(double share) {
  return fmt::format("{:+.2f} %", 100 * share);
}

/// The half of an interval's width, in percent; empty if there is no interval.
std::string percent_half_width(const Gain& gain) {
  return gain.half_width.has_value() ? fmt::format("{:.2f}", 100 * *gain.half_width) : "";
}

std::string with_interval(const Gain& gain) {
  return gain.half_width.has_value()
             ? fmt::format("{:+.2f} +- {:.2f} %", 100 * gain.mean, 100 * *gain.half_width)
             : percent(gain.mean);
}

/// A time in three digits, in ms or us.
std::string duration(double value_ms) {
  constexpr double kUsPerMs = 1e3;
  constexpr double kMicroseconds = 0.1;
  constexpr double kNothing = 1e-6;
  if (value_ms < kNothing) {
    return "0 us";
  }
  if (value_ms < kMicroseconds) {
    return fmt::format("{:.3g} us", value_ms * kUsPerMs);
  }
  constexpr double kThreeDigits = 99.95;
  return value_ms < kThreeDigits ? fmt::format("{:.3g} ms", value_ms)
                                 : fmt::format("{:.0f} ms", value_ms);
}

/// Bytes in three digits.
std::string quantity(std::int64_t bytes) {
  constexpr double kBytesPerMb = 1e6;
  constexpr double kGigabytes = 0.1;
  const double gigabytes = static_cast<double>(bytes) / kBytesPerGb;
  return gigabytes >= kGigabytes
             ? fmt::format("{:.3g} GB", gigabytes)
             : fmt::format("{:.3g} MB", static_cast<double>(bytes) / kBytesPerMb);
}

std::string name_of(const Arm& arm) {
  return fmt::format("{} every {}", arm.policy, arm.step_interval);
}

/// One reason why a step with EPLB takes another time than one without.
struct Cause {
  std::string clause;  ///< Ends in the time.
  double size_ms = 0;  ///< Absolute.
};

/// By size, the largest first. Copies beside forwards are left out where they hardly matter.
std::vector<Cause> causes_of(const RunMeans& on, const RunMeans& off) {
  constexpr double kHardly = 0.01;
  const double saved_ms = off.breakdown.mega_moe_ms - on.breakdown.mega_moe_ms;
  const double own_ms = on.breakdown.eplb_ms - on.contention_ms;
  std::vector<Cause> causes{
      {.clause = fmt::format("the expert layers {} by {}", saved_ms < 0 ? "grow" : "shrink",
                             duration(std::abs(saved_ms))),
       .size_ms = std::abs(saved_ms)},
      {.clause = fmt::format("EPLB itself costs {}", duration(own_ms)), .size_ms = own_ms}};
  if (on.contention_ms > kHardly * std::max(std::abs(saved_ms), own_ms)) {
    causes.push_back({.clause = fmt::format("copies beside forwards slow them by {}",
                                            duration(on.contention_ms)),
                      .size_ms = on.contention_ms});
  }
  std::ranges::stable_sort(causes, std::ranges::greater(), &Cause::size_ms);
  return causes;
}

Json breakdown_json(const sim::StepBreakdown& breakdown) {
  return {{"mega_moe", breakdown.mega_moe_ms},
          {"others", breakdown.others_ms},
          {"idle", breakdown.idle_ms},
          {"eplb", breakdown.eplb_ms}};
}

Json optional_number(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json arm_json(const ArmResult& result) {
  return {{"policy", result.arm.policy},
          {"step_interval", result.arm.step_interval},
          {"gain", result.gain.mean},
          {"gain_low", optional_number(result.gain.low())},
          {"gain_high", optional_number(result.gain.high())},
          {"throughput_tokens_per_s", result.means.throughput_tokens_per_s},
          {"step_ms", result.means.step_ms},
          {"balancedness", result.means.balancedness},
          {"breakdown_ms", breakdown_json(result.means.breakdown)},
          {"moved_bytes_per_rearrangement",
           optional_number(result.means.moved_bytes_per_rearrangement)}};
}

Json sensitivity_json(const ComparisonReport& report, Verdict verdict) {
  if (!report.sensitivity.has_value()) {
    return nullptr;
  }
  Json list = Json::array();
  for (const ParameterEffect& effect : *report.sensitivity) {
    list.push_back({{"parameter", effect.parameter},
                    {"gain_low_value", effect.low.mean},
                    {"gain_high_value", effect.high.mean},
                    {"swing", effect.swing},
                    {"survives", effect.survives(verdict)}});
  }
  return list;
}

void print_head(const ComparisonReport& report, std::ostream& out) {
  const sim::Scenario& scenario = report.config.scenario;
  EplbOptions eplb = scenario.eplb;
  eplb.enabled = true;
  const Shape shape = shape_of(scenario.model, scenario.parallel, eplb);
  out << fmt::format("eplb {} sim --compare {}, config {}\n", version(), report.config_file,
                     digest_text(report.config.digest));
  out << fmt::format("{}: {} layers of {} + {} experts on {} ranks of {}, {} requests a rank\n",
                     scenario.model.name, shape.layer_count, shape.expert_count,
                     shape.redundant_slot_count, shape.rank_count, scenario.hardware.device,
                     scenario.serving.requests_per_rank);
  const std::vector<std::uint64_t>& seeds = report.comparison.seeds;
  const std::string seed_text = seeds.size() == 1
                                    ? fmt::format("seed {}", seeds.front())
                                    : fmt::format("seeds {} to {}", seeds.front(), seeds.back());
  const std::int64_t warmup_steps = scenario.run.warmup_steps;
  out << fmt::format(
      "Each arm: {} of {} steps, {}, on {}.\n\n",
      seeds.size() == 1 ? "one run" : fmt::format("{} runs", seeds.size()), report.comparison.steps,
      warmup_steps > 0 ? fmt::format("the first {} of which do not count", warmup_steps)
                       : "those before its first rearrangement included",
      seed_text);
}

std::vector<std::string> cells_of(std::string name, const RunMeans& means) {
  const auto& moved = means.moved_bytes_per_rearrangement;
  return {std::move(name),
          fmt::format("{:.0f}", means.throughput_tokens_per_s),
          "",
          "",
          fmt::format("{:.3f}", means.step_ms),
          fmt::format("{:.4f}", means.breakdown.mega_moe_ms),
          fmt::format("{:.4f}", means.breakdown.eplb_ms),
          fmt::format("{:.4f}", means.balancedness),
          moved.has_value() ? fmt::format("{:.3f}", *moved / kBytesPerGb) : "",
          ""};
}

void print_arms(const ArmComparison& comparison, std::ostream& out) {
  constexpr std::size_t kGain = 2;
  using Align = Table::Align;
  std::vector<Align> columns(10, Align::kRight);
  columns.front() = Align::kLeft;
  columns.back() = Align::kLeft;
  Table table(std::move(columns));
  table.add({"policy, steps", "tokens/s", "gain, %", "+-, %", "step, ms", "experts", "EPLB",
             "balanced", "moved, GB", ""});
  table.add(cells_of("no EPLB", comparison.off));
  for (std::size_t index = 0; index < comparison.arms.size(); ++index) {
    const ArmResult& result = comparison.arms[index];
    std::vector<std::string> cells = cells_of(name_of(result.arm), result.means);
    cells[kGain] = fmt::format("{:+.2f}", 100 * result.gain.mean);
    cells[kGain + 1] = percent_half_width(result.gain);
    cells.back() = index == comparison.best ? "best" : "";
    table.add(std::move(cells));
  }
  table.print(out);
  out << "\ngain: tokens/s against no EPLB on the same seed";
  out << (comparison.seeds.size() == 1 ? "; one seed gives no interval\n"
                                       : "; +-: its 95 % interval, by Student's t over seeds\n");
  out << "experts, EPLB: ms of the mean step in expert layers, and for EPLB's kernels, holds, "
         "commits\nand copies; moved: by a mean rearrangement, on all ranks\n";
}

std::string survival(const ParameterEffect& effect, Verdict verdict) {
  if (effect.survives(verdict)) {
    return "survives";
  }
  return fmt::format("{} / {}", to_string(verdict_of(effect.low)),
                     to_string(verdict_of(effect.high)));
}

void print_effects(const ComparisonReport& report, std::ostream& out) {
  const ArmResult& best = report.comparison.arms[report.comparison.best];
  const Verdict verdict = verdict_of(best.gain);
  const double change = 100 * kSensitivityShare;
  using Align = Table::Align;
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"parameter", "value", fmt::format("gain at -{:.0f} %", change),
             fmt::format("gain at +{:.0f} %", change), "swing", "verdict"});
  for (const ParameterEffect& effect : *report.sensitivity) {
    table.add({effect.parameter, fmt::format("{:g}", effect.value), with_interval(effect.low),
               with_interval(effect.high), fmt::format("{:.2f} %", 100 * effect.swing),
               survival(effect, verdict)});
  }
  out << fmt::format("\n{}, {}, with one parameter at a time moved:\n\n", name_of(best.arm),
                     with_interval(best.gain));
  table.print(out);
  out << '\n' << sensitivity_sentence(*report.sensitivity, verdict) << '\n';
}

}  // namespace

std::string verdict_sentence(const ArmComparison& comparison) {
  const ArmResult& best = comparison.arms[comparison.best];
  const Verdict verdict = verdict_of(best.gain);
  std::string text;
  if (verdict != Verdict::kUndecided) {
    text = fmt::format("EPLB {}: ", to_string(verdict));
  } else if (best.gain.half_width.has_value()) {
    text = "undecided: the interval holds 0: ";
  } else {
    text = "undecided: one seed gives no interval: ";
  }
  text += percent(best.gain.mean);
  if (best.gain.half_width.has_value()) {
    text += fmt::format(" +- {} %", percent_half_width(best.gain));
  }
  text += fmt::format(" tokens/s with policy {} steps", name_of(best.arm));
  if (!best.means.moved_bytes_per_rearrangement.has_value()) {
    text += fmt::format(", which moves nothing in {} steps", comparison.steps);
  }
  text += verdict == Verdict::kDoesNotPay ? ", the best of all; " : "; ";
  text += "what dominates: ";
  const std::vector<Cause> causes = causes_of(best.means, comparison.off);
  for (const Cause& cause : causes) {
    const bool is_first = &cause == &causes.front();
    text +=
        fmt::format("{}{}{}", is_first ? "" : ", ", cause.clause,
                    is_first ? fmt::format(" of a {} step", duration(comparison.off.step_ms)) : "");
  }
  text += ".";
  if (verdict == Verdict::kPays) {
    text += fmt::format(
        " Its price in memory on each rank: {} of redundant weights and {} of landing rows.",
        quantity(best.means.redundant_bytes), quantity(best.means.landing_bytes));
  }
  return text;
}

std::string sensitivity_sentence(std::span<const ParameterEffect> effects, Verdict verdict) {
  const double change = 100 * kSensitivityShare;
  std::string flips;
  const auto note = [&](const ParameterEffect& effect, const Gain& gain, char sign) {
    if (verdict_of(gain) != verdict) {
      flips += fmt::format("{}{} at {}{:.0f} % ({})", flips.empty() ? "" : ", ", effect.parameter,
                           sign, change, to_string(verdict_of(gain)));
    }
  };
  for (const ParameterEffect& effect : effects) {
    note(effect, effect.low, '-');
    note(effect, effect.high, '+');
  }
  if (flips.empty()) {
    return fmt::format("The verdict {} +-{:.0f} % of every parameter.",
                       verdict == Verdict::kUndecided ? "stays undecided at" : "survives", change);
  }
  return fmt::format("What flips the verdict: {}.", flips);
}

Json comparison_json(const ComparisonReport& report) {
  const ArmComparison& comparison = report.comparison;
  const Verdict verdict = verdict_of(comparison.arms[comparison.best].gain);
  Json arms = Json::array();
  for (const ArmResult& result : comparison.arms) {
    arms.push_back(arm_json(result));
  }
  Json json;
  json["schema"] = "eplb.compare/1";
  json["version"] = std::string(version());
  // As text, since programs that read JSON numbers as doubles would round it.
  json["config_digest"] = digest_text(report.config.digest);
  json["steps"] = comparison.steps;
  json["seeds"] = comparison.seeds;
  json["off"] = {{"throughput_tokens_per_s", comparison.off.throughput_tokens_per_s},
                 {"step_ms", comparison.off.step_ms},
                 {"balancedness", comparison.off.balancedness},
                 {"breakdown_ms", breakdown_json(comparison.off.breakdown)}};
  json["arms"] = std::move(arms);
  json["best"] = comparison.best;
  json["verdict"] = to_string(verdict);
  json["sentence"] = verdict_sentence(comparison);
  json["sensitivity"] = sensitivity_json(report, verdict);
  return json;
}

void print_comparison(const ComparisonReport& report, std::ostream& out) {
  print_head(report, out);
  print_arms(report.comparison, out);
  out << '\n' << verdict_sentence(report.comparison) << '\n';
  if (report.sensitivity.has_value()) {
    print_effects(report, out);
  }
  out << fmt::format("\n{:.2f} s of simulation\n", report.wall_s);
}

}  // namespace eplb::cli
