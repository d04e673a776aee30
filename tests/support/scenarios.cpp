#include "scenarios.hpp"

namespace eplb::test {

sim::Scenario small_scenario() {
  sim::Scenario scenario;
  scenario.model = {.name = "small",
                    .moe_layers = 4,
                    .hidden = 1000,
                    .moe_intermediate = 1000,
                    .logical_experts = 16,
                    .top_k = 2,
                    .expert_groups = 1,
                    .weight_format = WeightFormat::kBf16};
  scenario.hardware = {.device = "round figures",
                       .gpus_per_node = 2,
                       .gpus_per_domain = 4,
                       .hbm_bandwidth_gb_per_s = 2000,
                       .hbm_efficiency = 0.5,
                       .bf16_tflops = 100,
                       .fp8_tflops = 0,
                       .fp4_tflops = 0,
                       .arithmetic_efficiency = 0.5,
                       .nvlink_bandwidth_gb_per_s = 400,
                       .network_bandwidth_gb_per_s = 40,
                       .expert_layer_start_us = 10,
                       .peer_copy_bandwidth_gb_per_s = 300,
                       .peer_copy_start_us = 5,
                       .network_copy_bandwidth_gb_per_s = 30,
                       .network_copy_start_us = 50,
                       .plan_us_per_layer = 25};
  scenario.parallel = {.ranks = 4, .ranks_per_node = 2};
  scenario.serving = {.requests_per_rank = 64,
                      .tokens_per_request = 2,
                      .accepted_tokens = 1.5,
                      .other_kernels_base_ms = 0.5,
                      .other_kernels_per_request_ms = 0.01};
  scenario.workload.routing = sim::LognormalRouting{.sigma = 1.0};
  scenario.eplb.num_redundant_experts = 4;
  scenario.eplb.window_size = 20;
  scenario.eplb.step_interval = 40;
  scenario.eplb.copy_streams = 1;
  scenario.run = {.steps = 200, .seed = 7, .compare_off = false};
  return scenario;
}

}  // namespace eplb::test
