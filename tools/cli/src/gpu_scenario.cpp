#include "gpu_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/cost.hpp"
#include "eplb/sim/machine.hpp"
#include "eplb/sim/policy_costs.hpp"
#include "eplb/sim/routing.hpp"

namespace eplb::cli {
namespace {

constexpr double kUsPerNs = 1e-3;
constexpr double kUsPerMs = 1e3;

/// Bits of a parameter without its scales.
std::int64_t bits_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::kBf16:
      return 16;
    case WeightFormat::kFp8Block128:
    case WeightFormat::kMxfp8:
      return 8;
    default:
      return 4;
  }
}

/// What rows are staged as for experts of this format.
gpu::StagingFormat staging_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::kFp8Block128:
      return gpu::StagingFormat::kFp8;
    case WeightFormat::kMxfp8:
    case WeightFormat::kMxfp4:
      return gpu::StagingFormat::kMxfp8;
    case WeightFormat::kNvfp4:
      return gpu::StagingFormat::kNvfp4;
    default:
      return gpu::StagingFormat::kBf16;
  }
}

/// An expert as an engine keeps it: gate and up projections in one tensor, the down projection in
/// another, scales of each apart. Sums to bytes_per_expert.
std::vector<std::int64_t> tensors_of(const ModelOptions& model) {
  const std::int64_t matrix = std::int64_t{model.hidden} * model.moe_intermediate;
  const std::int64_t down = matrix * bits_of(model.weight_format) / 8;
  const std::int64_t scales = bytes_per_expert(model) - 3 * down;
  if (scales <= 0) {
    return {2 * down, down};
  }
  const std::int64_t down_scales = scales / 3;
  return {2 * down, scales - down_scales, down, down_scales};
}

Result<void> check_runs(const sim::Scenario& scenario) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorCode::kUnsupported, what + "; the simulator does");
  };
  if (scenario.parallel.pipeline_stages > 1) {
    return refuse("parallel.pipeline_stages: the GPU backend runs one stage");
  }
  if (!scenario.parallel.scale.empty()) {
    return refuse("parallel.scale: the GPU backend's symmetric memory does not change its size");
  }
  if (!scenario.drafts.empty()) {
    return refuse("model: the GPU backend runs no speculating models beside the main one");
  }
  if (scenario.eplb.replica_choice == ReplicaChoice::kExact) {
    return refuse(
        "eplb.replica_choice: exact needs the counts of all ranks before each dispatch, "
        "which the GPU backend does not have");
  }
  if (scenario.serving.prefill_tokens_mean > 0) {
    return refuse("serving.prefill: the GPU backend runs decode steps alone");
  }
  if (!scenario.faults.failed_links.empty() || !scenario.faults.slow_ports.empty()) {
    return refuse("faults: a run on GPUs stalls hosts and loses ranks, but breaks no links");
  }
  return {};
}

gpu::ServeFaults faults_of(const sim::FaultOptions& faults) {
  gpu::ServeFaults served;
  for (const sim::Straggler& late : faults.stragglers) {
    served.late_hosts.push_back(
        {.rank = RankId{late.rank},
         .begin_ms = late.at_ms,
         .end_ms = late.until_ms.value_or(std::numeric_limits<double>::infinity()),
         .late_us = late.late_us});
  }
  for (const sim::HostStall& stall : faults.host_stalls) {
    served.stalled_hosts.push_back(
        {.rank = RankId{stall.rank}, .at_ms = stall.at_ms, .duration_ms = stall.duration_ms});
  }
  for (const sim::LostRank& lost : faults.lost_ranks) {
    served.killed_ranks.push_back(
        {.rank = RankId{lost.rank}, .at_ms = lost.at_ms, .state = sim::state_of(lost.moment)});
  }
  return served;
}

/// The layer's least time, and what a row adds beyond reading weights, which the stand-in does in
/// earnest.
gpu::DecodeTimes times_of(const sim::Scenario& scenario) {
  const ExpertLayerCost cost =
      sim::expert_layer_cost(scenario.model, scenario.hardware, scenario.parallel);
  const sim::ServingOptions& serving = scenario.serving;
  const double others_ms = serving.other_kernels_base_ms +
                           serving.other_kernels_per_request_ms * serving.requests_per_rank;
  return {.layer_start_us = cost.start_ns * kUsPerNs,
          .layer_us_per_row = std::max(cost.ns_per_padded_row,
                                       cost.ns_per_dispatched_row + cost.ns_per_combined_row) *
                              kUsPerNs,
          .others_us_per_layer = others_ms * kUsPerMs / scenario.model.moe_layers};
}

}  // namespace

Result<gpu::ServeOptions> serve_options(const sim::Scenario& scenario, const Topology& topology) {
  if (auto runs = check_runs(scenario); !runs) {
    return tl::unexpected(runs.error());
  }
  gpu::ServeOptions options;
  options.shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  if (auto valid = validate(options.shape); !valid) {
    return tl::unexpected(valid.error());
  }
  options.eplb = scenario.eplb;
  options.communicator = sim::resolved_communicator(scenario, topology);
  options.costs = sim::policy_costs(scenario, topology);
  options.tensor_bytes.assign(static_cast<std::size_t>(options.shape.layer_count),
                              tensors_of(scenario.model));
  options.decode.top_k = scenario.model.top_k;
  options.decode.row_count =
      scenario.serving.requests_per_rank * scenario.serving.tokens_per_request;
  options.decode.hidden_size = scenario.model.hidden;
  options.decode.format = staging_of(scenario.model.weight_format);
  options.decode.times = times_of(scenario);
  options.decode.is_cooperative = scenario.engine.moe_backend == "deep_gemm_mega_moe";
  options.decode.seed = scenario.run.seed;
  options.steps = scenario.run.steps;
  options.warmup_steps = scenario.run.warmup_steps;
  options.faults = faults_of(scenario.faults);
  return options;
}

gpu::PopularitySource popularities(const sim::Scenario& scenario) {
  auto routing =
      std::make_shared<sim::RoutingModel>(scenario.model, scenario.workload, scenario.run.seed);
  auto version = std::make_shared<std::int64_t>(-1);
  return [routing, version](std::int64_t step) -> const RealLoadMatrix* {
    const RealLoadMatrix& shares = routing->shares_at(step);
    return std::exchange(*version, routing->version()) == routing->version() ? nullptr : &shares;
  };
}

}  // namespace eplb::cli
