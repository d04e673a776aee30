#include "run_metrics.hpp"

#include <algorithm>
#include <variant>

namespace eplb::cli {
namespace {

double expert_layer_us(const ScenarioRuns::Done& run) {
  double layers = run.scenario.model.moe_layers;
  for (const ModelOptions& draft : run.scenario.drafts) {
    layers += draft.moe_layers;
  }
  const sim::StepBreakdown& breakdown = run.result.breakdown;
  return (breakdown.mega_moe_ms - breakdown.arrival_ms) * 1e3 / layers;
}

struct Durations {
  double mean_s = 0;
  double longest_s = 0;
};

Durations rearrangement_durations(const sim::SimulationResult& result) {
  Durations durations;
  for (const sim::RearrangementReport& report : result.rearrangements) {
    const double seconds =
        static_cast<double>(report.rearrangement.end_ns - report.rearrangement.start_ns) * 1e-9;
    durations.mean_s += seconds / static_cast<double>(result.rearrangements.size());
    durations.longest_s = std::max(durations.longest_s, seconds);
  }
  return durations;
}

}  // namespace

std::string unit_of(RunMetric metric) {
  switch (metric) {
    case RunMetric::kThroughput:
      return "tokens/s";
    case RunMetric::kStep:
    case RunMetric::kMegaMoe:
    case RunMetric::kOthers:
      return "ms";
    case RunMetric::kExpertLayer:
      return "us";
    case RunMetric::kRearrangement:
    case RunMetric::kLongestHold:
      return "s";
    case RunMetric::kThroughputGain:
    case RunMetric::kMegaMoeDrop:
    case RunMetric::kExpertLayerDrop:
      return std::string(kShare);
  }
  return {};
}

std::string group_of(RunMetric metric) {
  switch (metric) {
    case RunMetric::kThroughput:
      return "throughput";
    case RunMetric::kThroughputGain:
      return "throughput gain";
    case RunMetric::kStep:
      return "step";
    case RunMetric::kExpertLayer:
    case RunMetric::kExpertLayerDrop:
      return "expert layer while serving";
    case RunMetric::kMegaMoe:
    case RunMetric::kMegaMoeDrop:
    case RunMetric::kOthers:
      return "profile";
    case RunMetric::kRearrangement:
    case RunMetric::kLongestHold:
      return "rearrangement";
  }
  return {};
}

double measure(RunMetric metric, const ScenarioRuns::Done& on, const ScenarioRuns::Done& off) {
  switch (metric) {
    case RunMetric::kThroughput:
      return on.result.throughput_tokens_per_s;
    case RunMetric::kStep:
      return on.result.step.mean_ms;
    case RunMetric::kMegaMoe:
      return on.result.breakdown.mega_moe_ms;
    case RunMetric::kExpertLayer:
      return expert_layer_us(on);
    case RunMetric::kOthers:
      return on.result.breakdown.others_ms + on.result.breakdown.idle_ms;
    case RunMetric::kRearrangement:
      return rearrangement_durations(on.result).mean_s;
    case RunMetric::kLongestHold:
      return rearrangement_durations(on.result).longest_s;
    case RunMetric::kThroughputGain:
      return on.result.throughput_tokens_per_s / off.result.throughput_tokens_per_s - 1;
    case RunMetric::kMegaMoeDrop:
      return 1 - on.result.breakdown.mega_moe_ms / off.result.breakdown.mega_moe_ms;
    case RunMetric::kExpertLayerDrop:
      return 1 - expert_layer_us(on) / expert_layer_us(off);
  }
  return 0;
}

std::set<std::string> keys_read(RunMetric metric, const sim::Scenario& scenario) {
  std::set<std::string> keys;
  const sim::ServingOptions& serving = scenario.serving;
  const bool expert_layers_only =
      metric == RunMetric::kExpertLayer || metric == RunMetric::kExpertLayerDrop;
  if (!std::holds_alternative<sim::UniformRouting>(scenario.workload.routing) &&
      metric != RunMetric::kOthers) {
    keys.insert("workload.routing");
  }
  if (expert_layers_only || metric == RunMetric::kLongestHold) {
    return keys;
  }
  if (serving.other_kernels_base_ms > 0 || serving.other_kernels_per_request_ms > 0) {
    keys.insert("serving.other_kernels_ms");
  }
  if (serving.rank_imbalance > 0 && metric != RunMetric::kOthers) {
    keys.insert("serving.rank_imbalance");
  }
  const bool whole_step = metric != RunMetric::kMegaMoe && metric != RunMetric::kMegaMoeDrop;
  if (serving.boundary_idle_ms > 0 && whole_step) {
    keys.insert("serving.boundary_idle_ms");
  }
  if (serving.accepted_tokens != 1 && metric == RunMetric::kThroughput) {
    keys.insert("serving.accepted_tokens");
  }
  return keys;
}

}  // namespace eplb::cli
