#pragma once

namespace eplb::test {

/// A scenario that needs no other file: one layer on two ranks, 60 steps, a rearrangement every 20.
inline constexpr const char* kScenario = R"(model:
  name: tiny
  moe_layers: 1
  hidden: 256
  moe_intermediate: 128
  logical_experts: 8
  top_k: 2
  weight_format: bf16
hardware:
  device: round figures
  gpus_per_node: 2
  gpus_per_domain: 2
  hbm_bandwidth_gb_per_s: 1000
  hbm_efficiency: 1
  bf16_tflops: 100
  fp8_tflops: 0
  fp4_tflops: 0
  arithmetic_efficiency: 1
  nvlink_bandwidth_gb_per_s: 100
  network_bandwidth_gb_per_s: 10
  expert_layer_start_us: 10
  peer_copy_bandwidth_gb_per_s: 100
  peer_copy_start_us: 5
  network_copy_bandwidth_gb_per_s: 10
  network_copy_start_us: 10
  plan_us_per_layer: 30
parallel: {ranks: 2}
serving: {requests_per_rank: 32, other_kernels_ms: {base: 0.1}}
workload:
  routing: {kind: zipf, exponent: 1}
eplb: {num_redundant_experts: 2, window_size: 10, step_interval: 20}
run: {steps: 60, compare_off: true}
)";

}  // namespace eplb::test
