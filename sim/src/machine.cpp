#include "eplb/sim/machine.hpp"

#include <algorithm>
#include <cstdint>

namespace eplb::sim {

// NOTE [units]: 1 GB/s is 1 byte/ns, and 1 TFLOP/s is 1000 FLOP/ns.

Result<Topology> topology_of(const HardwareOptions& hardware, const ParallelOptions& parallel) {
  return Topology::create({.rank_count = parallel.ranks,
                           .ranks_per_node = parallel.ranks_per_node,
                           .ranks_per_domain = ranks_per_domain(hardware, parallel)});
}

EplbGroup group_of(const Scenario& scenario, std::int32_t domain_count) {
  return {.model = scenario.model,
          .draft_count = static_cast<std::int32_t>(scenario.drafts.size()),
          .parallel = scenario.parallel,
          .engine = scenario.engine,
          .domain_count = domain_count};
}

Communicator resolved_communicator(const Scenario& scenario, const Topology& topology) {
  return resolve_communicator(scenario.eplb, group_of(scenario, topology.domain_count()));
}

std::int32_t tensors_per_expert(WeightFormat format) {
  return format == WeightFormat::kBf16 ? 2 : 4;
}

namespace {

/// Bytes of an element of a row on its way to the experts, scales included. Results are BF16.
double activation_bytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kBf16:
    case WeightFormat::kInt4Group32:
      return 2;
    case WeightFormat::kFp8Block128:
      return 1 + 4.0 / 128;
    case WeightFormat::kMxfp8:
    case WeightFormat::kMxfp4:
      return 1 + 1.0 / 32;
    case WeightFormat::kNvfp4:
      return 0.5 + 1.0 / 16;
  }
  return 0;
}

constexpr double kResultBytes = 2;

WireCost wire_cost(const ModelOptions& model, double ns_per_byte) {
  return {
      .ns_per_dispatched_row = activation_bytes(model.weight_format) * model.hidden * ns_per_byte,
      .ns_per_combined_row = kResultBytes * model.hidden * ns_per_byte};
}

}  // namespace

WireCost nvlink_cost(const ModelOptions& model, const HardwareOptions& hardware) {
  return wire_cost(model,
                   1 / (hardware.nvlink_bandwidth_gb_per_s * hardware.expert_wire_efficiency));
}

WireCost network_cost(const ModelOptions& model, const HardwareOptions& hardware) {
  const double rate = hardware.network_bandwidth_gb_per_s * hardware.expert_wire_efficiency;
  return wire_cost(model, rate > 0 ? 1 / rate : 0);
}

ExpertLayerCost expert_layer_cost(const ModelOptions& model, const HardwareOptions& hardware,
                                  const ParallelOptions& parallel) {
  const double element_bytes = activation_bytes(model.weight_format);
  // Picks fall on all ranks alike: one in N stays at home, and those for other domains take the
  // network.
  const double domain_ranks = std::min(ranks_per_domain(hardware, parallel), parallel.ranks);
  const double nvlink_share = (domain_ranks - 1) / parallel.ranks;
  const double network_share = 1 - domain_ranks / parallel.ranks;
  const double nvlink_ns_per_byte = nvlink_share / hardware.nvlink_bandwidth_gb_per_s;
  const double network_ns_per_byte =
      network_share > 0 ? network_share / hardware.network_bandwidth_gb_per_s : 0;
  const double ns_per_byte =
      std::max(nvlink_ns_per_byte, network_ns_per_byte) / hardware.expert_wire_efficiency;
  const WireCost wire = wire_cost(model, ns_per_byte);
  // A row is written and read as it arrives, between the two GEMMs, and as its result.
  const double row_bytes =
      2 * (element_bytes * (model.hidden + model.moe_intermediate) + kResultBytes * model.hidden);

  return {.start_ns = (hardware.expert_layer_start_us +
                       hardware.expert_layer_start_per_rank_us * (parallel.ranks - 1)) *
                      1e3,
          .ns_per_touched_expert = static_cast<double>(bytes_per_expert(model)) /
                                   (hardware.hbm_bandwidth_gb_per_s * hardware.hbm_efficiency),
          .ns_per_padded_row =
              flops_per_row(model) / (arithmetic_tflops(hardware, model.weight_format) * 1e3 *
                                      hardware.arithmetic_efficiency),
          .ns_per_dispatched_row = wire.ns_per_dispatched_row,
          .ns_per_combined_row = wire.ns_per_combined_row,
          .ns_per_assignment = hardware.expert_row_bandwidth_gb_per_s.has_value()
                                   ? row_bytes / *hardware.expert_row_bandwidth_gb_per_s
                                   : 0};
}

}  // namespace eplb::sim
