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

ExpertLayerCost expert_layer_cost(const ModelOptions& model, const HardwareOptions& hardware,
                                  const ParallelOptions& parallel) {
  const double row_in_bytes = model.weight_format == WeightFormat::kBf16 ? 2.0 : 1.0;
  const double row_out_bytes = 2.0;
  const double row_bytes = (row_in_bytes + row_out_bytes) * model.hidden;
  // Picks fall on ranks of all domains alike, so this share of a rank's rows comes by the network.
  const double domain_ranks = std::min(ranks_per_domain(hardware, parallel), parallel.ranks);
  const double network_share = 1 - domain_ranks / parallel.ranks;
  const double nvlink_ns = row_bytes * (1 - network_share) / hardware.nvlink_bandwidth_gb_per_s;
  const double network_ns =
      network_share > 0 ? row_bytes * network_share / hardware.network_bandwidth_gb_per_s : 0;

  return {.start_ns = hardware.expert_layer_start_us * 1e3,
          .ns_per_touched_expert = static_cast<double>(bytes_per_expert(model)) /
                                   (hardware.hbm_bandwidth_gb_per_s * hardware.hbm_efficiency),
          .ns_per_padded_row =
              flops_per_row(model) / (arithmetic_tflops(hardware, model.weight_format) * 1e3 *
                                      hardware.arithmetic_efficiency),
          .ns_per_assignment = std::max(nvlink_ns, network_ns)};
}

}  // namespace eplb::sim
