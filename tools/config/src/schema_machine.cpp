#include "schema.hpp"

namespace eplb::config {
namespace {

// 3 x 2^17 x 2^17 parameters of an expert, 2 bytes each, in 2^10 layers of 2^14 + 1023 slots, are
// less than 2^63 bytes: no product of these bounds overflows.
constexpr Range kWidth = {.min = 1, .max = 1 << 17};
constexpr Range kExperts = {.min = 1, .max = 1 << 14};
constexpr Range kLayers = {.min = 1, .max = 1 << 10};

constexpr Range kShareOfPeak = {.min = 0, .max = 1, .above_min = true};
constexpr Range kBandwidth = {.min = 0, .max = 1e6, .above_min = true};
constexpr Range kRate = {.min = 0, .max = 1e6, .above_min = true};
constexpr Range kRateOrNone = {.min = 0, .max = 1e6};
constexpr Range kMicroseconds = {.min = 0, .max = 1e6};

constexpr std::array kModelFields = std::to_array<Field<ModelOptions>>({
    {.key = "name",
     .member = &ModelOptions::name,
     .default_help = "the file's name",
     .help = "What reports call the model."},
    {.key = "source", .member = FreeText{}, .help = "Where the shape was read; for people."},
    {.key = "moe_layers",
     .member = &ModelOptions::moe_layers,
     .range = kLayers,
     .required = true,
     .help = "Layers with experts; dense layers do not count."},
    {.key = "hidden",
     .member = &ModelOptions::hidden,
     .range = kWidth,
     .required = true,
     .help = "Width of a row as the experts see it."},
    {.key = "moe_intermediate",
     .member = &ModelOptions::moe_intermediate,
     .range = kWidth,
     .required = true,
     .help = "Inner width of one expert."},
    {.key = "logical_experts",
     .member = &ModelOptions::logical_experts,
     .range = kExperts,
     .required = true,
     .help = "Experts a layer that the router chooses from; shared experts do not count."},
    {.key = "top_k",
     .member = &ModelOptions::top_k,
     .range = kExperts,
     .required = true,
     .help = "Experts that a row goes to; at most logical_experts."},
    {.key = "expert_groups",
     .member = &ModelOptions::expert_groups,
     .range = kExperts,
     .help = "Groups that a router limits itself to; must divide logical_experts."},
    {.key = "weight_format",
     .member = &ModelOptions::weight_format,
     .required = true,
     .help = "How the experts' parameters are stored, block scales included. MXFP4 is computed at "
             "the FP8 rate, since its rows are 8-bit; NVFP4 at the FP4 rate, or at the FP8 rate on "
             "a device without FP4; 4-bit integers at the BF16 rate."},
});

constexpr std::array kHardwareFields = std::to_array<Field<sim::HardwareOptions>>({
    {.key = "device",
     .member = &sim::HardwareOptions::device,
     .required = true,
     .help = "What the figures are of, as a driver names it."},
    {.key = "gpus_per_node",
     .member = &sim::HardwareOptions::gpus_per_node,
     .range = {.min = 1, .max = 1 << 10},
     .required = true,
     .help = "GPUs that share a host."},
    {.key = "gpus_per_domain",
     .member = &sim::HardwareOptions::gpus_per_domain,
     .range = {.min = 1, .max = 1 << 16},
     .required = true,
     .help = "GPUs of one NVLink domain."},
    {.key = "hbm_bandwidth_gb_per_s",
     .member = &sim::HardwareOptions::hbm_bandwidth_gb_per_s,
     .unit = "GB/s",
     .range = kBandwidth,
     .required = true,
     .help = "Peak of a GPU's memory."},
    {.key = "hbm_efficiency",
     .member = &sim::HardwareOptions::hbm_efficiency,
     .range = kShareOfPeak,
     .required = true,
     .help = "Share of that peak that streaming weights reach."},
    {.key = "bf16_tflops",
     .member = &sim::HardwareOptions::bf16_tflops,
     .unit = "TFLOP/s",
     .range = kRate,
     .required = true,
     .help = "Dense arithmetic peak for BF16 rows."},
    {.key = "fp8_tflops",
     .member = &sim::HardwareOptions::fp8_tflops,
     .unit = "TFLOP/s",
     .range = kRateOrNone,
     .required = true,
     .help = "The same for 8-bit rows; 0 where the device has no FP8."},
    {.key = "fp4_tflops",
     .member = &sim::HardwareOptions::fp4_tflops,
     .unit = "TFLOP/s",
     .range = kRateOrNone,
     .required = true,
     .help = "The same for 4-bit rows and weights; 0 where the device has no FP4."},
    {.key = "arithmetic_efficiency",
     .member = &sim::HardwareOptions::arithmetic_efficiency,
     .range = kShareOfPeak,
     .required = true,
     .help = "Share of the arithmetic peak that expert GEMMs reach."},
    {.key = "nvlink_bandwidth_gb_per_s",
     .member = &sim::HardwareOptions::nvlink_bandwidth_gb_per_s,
     .unit = "GB/s",
     .range = kBandwidth,
     .required = true,
     .help = "One GPU, one direction, as kernels reach it."},
    {.key = "network_bandwidth_gb_per_s",
     .member = &sim::HardwareOptions::network_bandwidth_gb_per_s,
     .unit = "GB/s",
     .range = kBandwidth,
     .required = true,
     .help = "One GPU, one direction, between NVLink domains."},
    {.key = "expert_layer_start_us",
     .member = &sim::HardwareOptions::expert_layer_start_us,
     .unit = "us",
     .range = kMicroseconds,
     .required = true,
     .help = "Least time of an expert layer: launch, barriers, first bytes."},
    {.key = "peer_copy_bandwidth_gb_per_s",
     .member = &sim::HardwareOptions::peer_copy_bandwidth_gb_per_s,
     .unit = "GB/s",
     .range = kBandwidth,
     .required = true,
     .help = "Copy engine, bulk, one direction, in a domain."},
    {.key = "peer_copy_start_us",
     .member = &sim::HardwareOptions::peer_copy_start_us,
     .unit = "us",
     .range = kMicroseconds,
     .required = true,
     .help = "What each of these copies costs on top of its bytes."},
    {.key = "network_copy_bandwidth_gb_per_s",
     .member = &sim::HardwareOptions::network_copy_bandwidth_gb_per_s,
     .unit = "GB/s",
     .range = kBandwidth,
     .required = true,
     .help = "Weights between domains, one GPU."},
    {.key = "network_copy_start_us",
     .member = &sim::HardwareOptions::network_copy_start_us,
     .unit = "us",
     .range = kMicroseconds,
     .required = true,
     .help = "What each of these copies costs on top of its bytes."},
    {.key = "plan_us_per_layer",
     .member = &sim::HardwareOptions::plan_us_per_layer,
     .unit = "us",
     .range = kMicroseconds,
     .required = true,
     .help = "Host time that a policy takes for one layer."},
    {.key = "sources",
     .member = FigureSources{},
     .help = "Where each figure comes from: a mapping with the keys above; for people."},
});

}  // namespace

Fields<ModelOptions> model_fields() {
  return kModelFields;
}

Fields<sim::HardwareOptions> hardware_fields() {
  return kHardwareFields;
}

}  // namespace eplb::config
