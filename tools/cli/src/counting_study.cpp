#include "counting_study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "eplb/sim/balancer_kernels.hpp"
#include "eplb/sim/calibration/measured_layer.hpp"
#include "eplb/sim/calibration/routing_counts.hpp"

namespace eplb::cli {
namespace {

constexpr std::int64_t kPrefillTokens = 16'384;

/// An evenly loaded layer of the model.
double even_layer_us(const sim::Scenario& scenario, std::int64_t tokens_per_rank) {
  const ModelOptions& model = scenario.model;
  const std::int32_t ranks = scenario.parallel.ranks;
  const auto counts = sim::balanced_counts(
      {.experts = model.logical_experts, .top_k = model.top_k, .tokens = tokens_per_rank * ranks});
  return sim::predicted_us(
      {.device = {},
       .distribution = {},
       .model = model,
       .ranks = ranks,
       .tokens_per_rank = tokens_per_rank,
       .busiest = sim::features_by_rank(counts, ranks, tokens_per_rank * model.top_k)},
      scenario.hardware);
}

sim::CountedPicks picks_of(const sim::Scenario& scenario, std::int64_t tokens_per_rank,
                           double hot_share) {
  const double even = 1.0 / scenario.model.logical_experts;
  const double hottest = std::max(hot_share, even);
  const double copies = hot_share > even ? 1 + scenario.eplb.num_redundant_experts : 1;
  const std::int64_t picks = tokens_per_rank * scenario.model.top_k;
  const auto part = [&](double share) { return std::llround(static_cast<double>(picks) * share); };
  return {.picks = picks,
          .busiest_logical = part(hottest),
          .busiest_slot = part(std::max(hottest / copies, even))};
}

}  // namespace

std::vector<CountingCost> counting_costs(const sim::Scenario& scenario) {
  const std::array<std::pair<const char*, std::int64_t>, 2> phases{
      {{"decode",
        std::int64_t{scenario.serving.requests_per_rank} * scenario.serving.tokens_per_request},
       {"prefill", kPrefillTokens}}};
  std::vector<CountingCost> costs;
  for (const auto& phase : phases) {
    const double layer_us = even_layer_us(scenario, phase.second);
    for (const int percent : {0, 10, 20, 30, 40, 50}) {
      const double hot_share = percent / 100.0;
      for (const LoadCounting counting :
           {LoadCounting::kLogical, LoadCounting::kPhysical, LoadCounting::kBoth}) {
        const double us = sim::record_kernel_ns(scenario.hardware, counting,
                                                picks_of(scenario, phase.second, hot_share)) *
                          1e-3;
        costs.push_back({.phase = phase.first,
                         .tokens_per_rank = phase.second,
                         .hot_share = hot_share,
                         .counting = counting,
                         .layer_us = us,
                         .step_ms = us * scenario.model.moe_layers * 1e-3,
                         .share_of_expert_layers = us / layer_us});
      }
    }
  }
  return costs;
}

std::string counting_name(LoadCounting counting) {
  switch (counting) {
    case LoadCounting::kLogical:
      return "logical";
    case LoadCounting::kPhysical:
      return "physical";
    case LoadCounting::kBoth:
      return "both";
  }
  return {};
}

}  // namespace eplb::cli
