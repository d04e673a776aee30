#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::cli {

/// What a way of counting costs while a kernel of its own does it.
struct CountingCost {
  std::string phase;  ///< `decode` or `prefill`.
  std::int64_t tokens_per_rank = 0;
  double hot_share = 0;  ///< Of all picks, on one expert of each layer.
  LoadCounting counting = LoadCounting::kLogical;
  double layer_us = 0;
  double step_ms = 0;                 ///< Of all layers.
  double share_of_expert_layers = 0;  ///< Against the same layers' time, evenly loaded.
};

/// Logical, physical and both, at hot shares from 0 to 50 %, in decoding steps of the scenario and
/// in prefill of 16,384 tokens a rank. All spare slots go to the hot expert, so that the busiest
/// slot has its share of it. A picked share beyond 1 / top_k is more than a router deals, but it is
/// what the kernel's own benchmark asks.
[[nodiscard]] std::vector<CountingCost> counting_costs(const sim::Scenario& scenario);

[[nodiscard]] std::string counting_name(LoadCounting counting);

}  // namespace eplb::cli
