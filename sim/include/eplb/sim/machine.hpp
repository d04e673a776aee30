#pragma once

#include <cstdint>

#include "eplb/core/communicator.hpp"
#include "eplb/core/cost.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Which ranks share a host and an NVLink domain. One rank a GPU.
[[nodiscard]] Result<Topology> topology_of(const HardwareOptions& hardware,
                                           const ParallelOptions& parallel);

/// Coefficients of an expert layer (derivation: docs/cost-model.md):
///   start       expert_layer_start + expert_layer_start_per_rank x (ranks - 1)
///   weights     bytes of an expert / (HBM bandwidth x efficiency)
///   arithmetic  6 hidden intermediate FLOPs a row / (dense rate of the format x efficiency)
///   wire        a row's activations in, its BF16 result out, but for those that stay at home, over
///               NVLink; where the group spans domains, over whichever of NVLink and network ends
///               later; times the share that the kernel reaches
///   rows        bytes that a row writes and reads in memory / expert_row_bandwidth
[[nodiscard]] ExpertLayerCost expert_layer_cost(const ModelOptions& model,
                                                const HardwareOptions& hardware,
                                                const ParallelOptions& parallel);

/// What a row costs that is known to go over NVLink or over the network, at the shares of the rates
/// above; both ways are used at once.
[[nodiscard]] WireCost nvlink_cost(const ModelOptions& model, const HardwareOptions& hardware);
[[nodiscard]] WireCost network_cost(const ModelOptions& model, const HardwareOptions& hardware);

/// What the core must know of the EP group, whose ranks lie in so many NVLink domains.
[[nodiscard]] EplbGroup group_of(const Scenario& scenario, std::int32_t domain_count);

/// What `eplb.communicator` comes to on this machine.
[[nodiscard]] Communicator resolved_communicator(const Scenario& scenario,
                                                 const Topology& topology);

/// Tensors that an engine keeps for one expert: two matrices, and their scales if it has any.
[[nodiscard]] std::int32_t tensors_per_expert(WeightFormat format);

}  // namespace eplb::sim
