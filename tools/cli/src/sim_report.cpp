#include "sim_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "eplb/core/options.hpp"
#include "program_report.hpp"
#include "trigger_report.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsPerNs = 1e-6;
constexpr double kSecondsPerNs = 1e-9;
constexpr double kBytesPerGb = 1e9;
constexpr double kPercent = 100;

Json optional_number(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json step_json(const sim::StepTimes& step) {
  return {{"mean", step.mean_ms}, {"p50", step.p50_ms}, {"p99", step.p99_ms}};
}

Json baseline_json(const std::optional<sim::SimulationResult>& baseline) {
  if (!baseline.has_value()) {
    return nullptr;
  }
  return {
      {"throughput_tokens_per_s", baseline->throughput_tokens_per_s},
      {"step_ms", step_json(baseline->step)},
      {"balancedness",
       {{"mean", baseline->balancedness.mean}, {"min_layer", baseline->balancedness.min_layer}}}};
}

Json rearrangements_json(const std::vector<sim::RearrangementReport>& reports) {
  Json list = Json::array();
  for (const sim::RearrangementReport& report : reports) {
    const Rearrangement& r = report.rearrangement;
    Json entry{{"start_step", r.start_step},
               {"end_step", r.end_step},
               {"duration_ms", static_cast<double>(r.end_ns - r.start_ns) * kMsPerNs},
               {"wire_ms", static_cast<double>(report.wire_ns) * kMsPerNs},
               {"moved_experts", r.moved_experts},
               {"bytes", r.moved_bytes}};
    if (r.verdict.has_value()) {
      entry["trigger"] = trigger_json(r);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// A table of runs beside each other: what it is, with EPLB, and if there is a baseline, without it
/// and the change.
class Comparison {
 public:
  explicit Comparison(bool has_baseline) : has_baseline_(has_baseline), table_(columns()) {}

  void head(std::string_view with_name) {
    add({"", std::string(with_name), has_baseline_ ? "without" : "",
         has_baseline_ ? "change" : ""});
  }

  void number(std::string_view name, double with, double without, int decimals) {
    const std::string change =
        has_baseline_ && without != 0 ? fmt::format("{:+.1f} %", 100 * (with / without - 1)) : "";
    add({std::string(name), fmt::format("{:.{}f}", with, decimals),
         has_baseline_ ? fmt::format("{:.{}f}", without, decimals) : "", change});
  }

  void print(std::ostream& out) const { table_.print(out); }

 private:
  static std::vector<Table::Align> columns() {
    return {Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight, Table::Align::kRight};
  }

  void add(std::vector<std::string> cells) { table_.add(std::move(cells)); }

  bool has_baseline_;
  Table table_;
};

void print_head(const SimReport& report, std::ostream& out) {
  const sim::Scenario& scenario = report.config.scenario;
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  out << fmt::format("eplb {} {} {}, seed {}, config {}\n", version(), report.verb,
                     report.config_file, scenario.run.seed, digest_text(report.config.digest));
  out << fmt::format("{}: {} layers of {} + {} experts on {} ranks of {}, {} requests a rank\n",
                     scenario.model.name, shape.layer_count, shape.expert_count,
                     shape.redundant_slot_count, shape.rank_count, scenario.hardware.device,
                     scenario.serving.requests_per_rank);
  if (scenario.eplb.enabled) {
    out << fmt::format("policy {}, every {} steps from the last {}, {}\n", scenario.eplb.policy,
                       scenario.eplb.step_interval, scenario.eplb.window_size,
                       scenario.eplb.use_async ? "async" : "sync");
  }
  out << '\n';
}

void print_comparison(const SimReport& report, std::ostream& out) {
  const sim::SimulationResult& with = report.result;
  const sim::SimulationResult& without = report.baseline.has_value() ? *report.baseline : with;
  Comparison table(report.baseline.has_value());
  table.head(report.config.scenario.eplb.enabled ? "EPLB" : "no EPLB");
  table.number("throughput, tokens/s", with.throughput_tokens_per_s,
               without.throughput_tokens_per_s, 0);
  table.number("step mean, ms", with.step.mean_ms, without.step.mean_ms, 3);
  table.number("step p50, ms", with.step.p50_ms, without.step.p50_ms, 3);
  table.number("step p99, ms", with.step.p99_ms, without.step.p99_ms, 3);
  table.number("  expert layers, ms", with.breakdown.mega_moe_ms, without.breakdown.mega_moe_ms, 3);
  table.number("  other kernels, ms", with.breakdown.others_ms, without.breakdown.others_ms, 3);
  table.number("  idle, ms", with.breakdown.idle_ms, without.breakdown.idle_ms, 3);
  table.number("  EPLB itself, ms", with.breakdown.eplb_ms, without.breakdown.eplb_ms, 3);
  table.number("balancedness", with.balancedness.mean, without.balancedness.mean, 4);
  table.number("  of the worst layer", with.balancedness.min_layer, without.balancedness.min_layer,
               4);
  if (with.network_share.has_value()) {
    table.number("rows over the network, %", kPercent * *with.network_share,
                 kPercent * without.network_share.value_or(0), 2);
  }
  table.print(out);
  if (with.balancedness.exact_split.has_value()) {
    out << fmt::format(
        "the exact split of each forward over the same replicas: balancedness {:.4f}\n",
        *with.balancedness.exact_split);
  }
}

void print_rearrangements(const SimReport& report, std::ostream& out) {
  const sim::SimulationResult& result = report.result;
  if (result.balancedness.before.has_value() && result.balancedness.after.has_value()) {
    out << fmt::format(
        "\nbalancedness before the first commit {:.4f}, after the first "
        "rearrangement {:.4f}\n",
        *result.balancedness.before, *result.balancedness.after);
  }
  if (!result.rearrangements.empty()) {
    double longest_ms = 0;
    double wire_ms = 0;
    double moved = 0;
    double bytes = 0;
    for (const sim::RearrangementReport& r : result.rearrangements) {
      longest_ms = std::max(
          longest_ms,
          static_cast<double>(r.rearrangement.end_ns - r.rearrangement.start_ns) * kMsPerNs);
      wire_ms += static_cast<double>(r.wire_ns) * kMsPerNs;
      moved += static_cast<double>(r.rearrangement.moved_experts);
      bytes += static_cast<double>(r.rearrangement.moved_bytes);
    }
    const auto count = static_cast<double>(result.rearrangements.size());
    out << fmt::format(
        "rearrangements: {}; a mean one moved {:.0f} experts, {:.3f} GB{}; the longest took {:.1f} "
        "ms\n",
        result.rearrangements.size(), moved / count, bytes / count / kBytesPerGb,
        wire_ms > 0 ? fmt::format(", {:.2f} ms on the wire", wire_ms / count) : "", longest_ms);
    print_trigger(result.rearrangements, out);
  }
  if (report.config.scenario.eplb.enabled) {
    out << fmt::format("holds: {}, {:.3f} ms in all; steps delayed by commits: {}, {:.3f} ms\n",
                       result.hold_count, static_cast<double>(result.hold_ns) * kMsPerNs,
                       result.commit_count, static_cast<double>(result.commit_ns) * kMsPerNs);
  }
  if (result.aborted_rearrangement_count > 0) {
    out << fmt::format("aborted rearrangements: {}\n", result.aborted_rearrangement_count);
  }
  print_hazards(report.hazards, "", out);
}

}  // namespace

Json sim_json(const SimReport& report) {
  const sim::SimulationResult& result = report.result;
  Json json;
  json["schema"] = "eplb.sim/1";
  json["version"] = std::string(version());
  json["seed"] = report.config.scenario.run.seed;
  json["config_digest"] = digest_text(report.config.digest);
  json["steps"] = result.steps;
  json["simulated_s"] = static_cast<double>(result.simulated_ns) * kSecondsPerNs;
  json["wall_s"] = report.wall_s;
  json["throughput_tokens_per_s"] = result.throughput_tokens_per_s;
  json["step_ms"] = step_json(result.step);
  json["breakdown_ms"] = {{"mega_moe", result.breakdown.mega_moe_ms},
                          {"others", result.breakdown.others_ms},
                          {"idle", result.breakdown.idle_ms},
                          {"eplb", result.breakdown.eplb_ms}};
  json["balancedness"] = {{"mean", result.balancedness.mean},
                          {"min_layer", result.balancedness.min_layer},
                          {"before", optional_number(result.balancedness.before)},
                          {"after", optional_number(result.balancedness.after)}};
  if (result.balancedness.exact_split.has_value()) {
    json["balancedness"]["exact_split"] = *result.balancedness.exact_split;
  }
  if (result.network_share.has_value()) {
    json["network_share"] = *result.network_share;
  }
  json["holds"] = {{"count", result.hold_count},
                   {"ms", static_cast<double>(result.hold_ns) * kMsPerNs}};
  json["commits"] = {{"count", result.commit_count},
                     {"ms", static_cast<double>(result.commit_ns) * kMsPerNs}};
  json["memory_bytes"] = {{"weights", result.memory.weights_bytes},
                          {"redundant", result.memory.redundant_bytes},
                          {"landing", result.memory.landing_bytes},
                          {"maps", result.memory.maps_bytes}};
  json["baseline"] = baseline_json(report.baseline);
  json["rearrangements"] = rearrangements_json(result.rearrangements);
  json["hang"] = nullptr;
  json["hazards"] = hazards_json(report.hazards);
  json["digest"] = digest_text(result.digest);
  return json;
}

void print_sim(const SimReport& report, std::ostream& out) {
  print_head(report, out);
  print_comparison(report, out);
  print_rearrangements(report, out);
  const sim::MemoryUse& memory = report.result.memory;
  out << fmt::format(
      "memory a rank: weights {:.3f} GB, of it redundant {:.3f} GB; landing rows {:.3f} GB; maps "
      "{:.2f} MB\n",
      static_cast<double>(memory.weights_bytes) / kBytesPerGb,
      static_cast<double>(memory.redundant_bytes) / kBytesPerGb,
      static_cast<double>(memory.landing_bytes) / kBytesPerGb,
      static_cast<double>(memory.maps_bytes) * 1e-6);
  const double served_s = static_cast<double>(report.result.simulated_ns) * kSecondsPerNs;
  if (report.verb == "sim") {
    out << fmt::format("{} steps, {:.2f} s simulated in {:.2f} s; digest {}\n", report.result.steps,
                       served_s, report.wall_s, digest_text(report.result.digest));
  } else {
    out << fmt::format("{} steps in {:.2f} s, {:.2f} s in all\n", report.result.steps, served_s,
                       report.wall_s);
  }
}

}  // namespace eplb::cli
