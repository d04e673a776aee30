#include "gpu_run_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsPerNs = 1e-6;
constexpr double kUsPerNs = 1e-3;

double ratio(std::int64_t sum, std::int64_t count) {
  return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}

/// The value below which a share of the sorted values lies.
double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  const auto place = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[place];
}

sim::StepTimes step_times(std::vector<double> step_ms) {
  std::ranges::sort(step_ms);
  const double sum = std::accumulate(step_ms.begin(), step_ms.end(), 0.0);
  return {.mean_ms = step_ms.empty() ? 0 : sum / static_cast<double>(step_ms.size()),
          .p50_ms = quantile(step_ms, 0.5),
          .p99_ms = quantile(step_ms, 0.99)};
}

template <typename Wanted>
std::optional<double> mean_balance(const std::vector<gpu::BalanceSample>& samples,
                                   const Wanted& wanted) {
  double sum = 0;
  std::int64_t count = 0;
  for (const gpu::BalanceSample& sample : samples) {
    if (wanted(sample)) {
      sum += sample.balancedness;
      ++count;
    }
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

sim::BalancednessSummary balancedness_of(const std::vector<gpu::BalanceSample>& samples) {
  sim::BalancednessSummary summary;
  summary.mean = mean_balance(samples, [](const auto&) { return true; }).value_or(0);
  summary.before = mean_balance(samples, [](const auto& s) { return s.before_first_commit; });
  summary.after = mean_balance(samples, [](const auto& s) { return s.after_first_rearrangement; });
  double sum = 0;
  for (const gpu::BalanceSample& sample : samples) {
    sum += sample.min_layer;
  }
  summary.min_layer = samples.empty() ? 0 : sum / static_cast<double>(samples.size());
  return summary;
}

gpu::RankFigures summed(const gpu::ServeResult& serve) {
  gpu::RankFigures all;
  for (const gpu::RankFigures& rank : serve.ranks) {
    all.words_checked += rank.words_checked;
    all.words_wrong += rank.words_wrong;
    all.rows_checked += rank.rows_checked;
    all.rows_wrong += rank.rows_wrong;
    all.maps_checked += rank.maps_checked;
    all.maps_wrong += rank.maps_wrong;
    all.calls_replayed += rank.calls_replayed;
    all.passes_checked += rank.passes_checked;
    all.passes_wrong += rank.passes_wrong;
    all.logged_checked += rank.logged_checked;
    all.gangs_ended += rank.gangs_ended;
    all.gangs_ran_out += rank.gangs_ran_out;
    all.steps += rank.steps;
    all.barrier_ns += rank.barrier_ns;
    all.on_step_ns += rank.on_step_ns;
    all.longest_on_step_ns = std::max(all.longest_on_step_ns, rank.longest_on_step_ns);
    all.longest_progress_ns = std::max(all.longest_progress_ns, rank.longest_progress_ns);
    all.mark_ns += rank.mark_ns;
    all.plain_boundary_count += rank.plain_boundary_count;
    all.plain_boundary_ns += rank.plain_boundary_ns;
    all.busy_boundary_count += rank.busy_boundary_count;
    all.busy_boundary_ns += rank.busy_boundary_ns;
    all.commit_count += rank.commit_count;
    all.commit_ns += rank.commit_ns;
  }
  return all;
}

}  // namespace

sim::SimulationResult in_terms_of_sim(const gpu::ServeResult& serve,
                                      const sim::Scenario& scenario) {
  sim::SimulationResult result;
  const gpu::RankFigures& first = serve.ranks.front();
  const auto steps = static_cast<double>(std::max<std::int64_t>(first.steps, 1));
  result.steps = first.steps;
  result.simulated_ns = std::llround(serve.measured_s * 1e9);
  result.step = step_times(serve.step_ms);
  const double serving_s = result.step.mean_ms * steps / 1e3;
  result.throughput_tokens_per_s = serving_s > 0 ? scenario.serving.accepted_tokens *
                                                       scenario.serving.requests_per_rank *
                                                       scenario.parallel.ranks * steps / serving_s
                                                 : 0;
  const double forward_ms = static_cast<double>(first.forward_ns) * kMsPerNs / steps;
  result.breakdown.others_ms =
      std::min(forward_ms, scenario.serving.other_kernels_base_ms +
                               scenario.serving.other_kernels_per_request_ms *
                                   scenario.serving.requests_per_rank);
  result.breakdown.mega_moe_ms = forward_ms - result.breakdown.others_ms;
  result.breakdown.eplb_ms =
      static_cast<double>(first.plain_boundary_ns + first.commit_ns + first.hold_ns) * kMsPerNs /
      steps;
  result.breakdown.idle_ms =
      std::max(result.step.mean_ms - forward_ms - result.breakdown.eplb_ms, 0.0);
  result.balancedness = balancedness_of(serve.balance);
  result.hold_count = first.hold_count;
  result.hold_ns = first.hold_ns;
  result.commit_count = first.commit_count;
  result.commit_ns = first.commit_ns;
  result.memory.weights_bytes = first.weights_bytes;
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  result.memory.redundant_bytes =
      first.weights_bytes * shape.redundant_slot_count / std::max(shape.slot_count(), 1);
  result.memory.landing_bytes = first.landing_bytes;
  result.memory.maps_bytes = first.maps_bytes;
  for (std::size_t index = 0; index < serve.rearrangements.size(); ++index) {
    const Rearrangement& rearrangement = serve.rearrangements[index];
    const bool drained = rearrangement.abort.cause == FailureCause::kDrained;  // By the run's end.
    result.aborted_rearrangement_count += rearrangement.abort && !drained ? 1 : 0;
    result.rearrangements.push_back(
        {.rearrangement = rearrangement, .wire_ns = serve.wire_ns[index]});
  }
  return result;
}

bool failed(const gpu::ServeResult& serve) {
  const gpu::RankFigures all = summed(serve);
  return static_cast<bool>(serve.stop) || all.words_wrong > 0 || all.rows_wrong > 0 ||
         all.maps_wrong > 0 || all.passes_wrong > 0 || all.gangs_ran_out > 0;
}

nlohmann::ordered_json gpu_run_json(const GpuRunReport& report) {
  Json json = sim_json(report.sim);
  const gpu::RankFigures all = summed(report.serve);
  for (Json& rearrangement : json["rearrangements"]) {
    if (rearrangement["wire_ms"] == 0.0) {
      rearrangement["wire_ms"] = nullptr;  // Not known.
    }
  }
  json["measured"] = true;
  json["stop"] = report.serve.stop ? Json(describe(report.serve.stop)) : Json(nullptr);
  json["verification"] = {{"words_served", all.words_checked},
                          {"words_wrong", all.words_wrong},
                          {"rows_digested", all.rows_checked},
                          {"rows_wrong", all.rows_wrong},
                          {"maps", all.maps_checked},
                          {"maps_wrong", all.maps_wrong},
                          {"calls_replayed", all.calls_replayed},
                          {"passes", all.passes_checked},
                          {"passes_logged", all.logged_checked},
                          {"passes_wrong", all.passes_wrong}};
  json["cooperative_kernels"] = {{"ended", all.gangs_ended}, {"ran_out", all.gangs_ran_out}};
  json["costs_us"] = {
      {"mark", ratio(all.mark_ns, all.steps) * kUsPerNs},
      {"boundary", ratio(all.plain_boundary_ns, all.plain_boundary_count) * kUsPerNs},
      {"boundary_while_moving", ratio(all.busy_boundary_ns, all.busy_boundary_count) * kUsPerNs},
      {"commit", ratio(all.commit_ns, all.commit_count) * kUsPerNs},
      {"step_barrier", ratio(all.barrier_ns, all.steps) * kUsPerNs},
      {"on_step", ratio(all.on_step_ns, all.steps) * kUsPerNs},
      {"on_step_longest", static_cast<double>(all.longest_on_step_ns) * kUsPerNs},
      {"progress_longest", static_cast<double>(all.longest_progress_ns) * kUsPerNs}};
  return json;
}

void print_gpu_run(const GpuRunReport& report, std::ostream& out) {
  print_sim(report.sim, out);
  const gpu::RankFigures all = summed(report.serve);
  out << fmt::format(
      "between forwards the device takes {:.2f} us ({:.2f} us while weights move), with a commit "
      "{:.1f} us, without the {:.2f} us of a mark; the hosts wait {:.1f} us for each other\n",
      ratio(all.plain_boundary_ns, all.plain_boundary_count) * kUsPerNs,
      ratio(all.busy_boundary_ns, all.busy_boundary_count) * kUsPerNs,
      ratio(all.commit_ns, all.commit_count) * kUsPerNs, ratio(all.mark_ns, all.steps) * kUsPerNs,
      ratio(all.barrier_ns, all.steps) * kUsPerNs);
  out << fmt::format(
      "verified: {} words of weights as served, {} wrong; {} rows by digest, {} wrong; {} maps, {} "
      "wrong; {} passes, {} of them by slot too, {} wrong\n",
      all.words_checked, all.words_wrong, all.rows_checked, all.rows_wrong, all.maps_checked,
      all.maps_wrong, all.passes_checked, all.logged_checked, all.passes_wrong);
  if (all.gangs_ended > 0) {
    out << fmt::format("cooperative kernels on all multiprocessors: {}, {} of the ranks hung\n",
                       all.gangs_ended, all.gangs_ran_out);
  }
  if (all.calls_replayed > 0) {
    out << fmt::format("replayed: {} calls of the balancers, each answered and made again alike\n",
                       all.calls_replayed);
  }
  if (report.serve.stop) {
    out << "the group has ended: " << describe(report.serve.stop) << '\n';
  }
}

}  // namespace eplb::cli
