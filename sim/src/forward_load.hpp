#pragma once

#include <cstdint>

#include "eplb/sim/cluster/cluster.hpp"
#include "eplb/sim/cluster/flow_network.hpp"

namespace eplb::sim {

/// What a forward does on its busiest rank, undisturbed.
struct ForwardWork {
  std::int64_t duration_ns = 0;
  double weights_ns = 0;  ///< Of it, time that expert weights take to be read.
  double wire_ns = 0;     ///< Of it, time that dispatch and combine take of a port, each way.
  double others_ns = 0;   ///< Of it, other kernels; they are taken to stream from memory.
};

/// A forward as a flow whose unit is a nanosecond of its work: all ranks run it together, each as
/// loaded as the busiest, so whoever is in the way on one rank is in the way of all. Alone it goes
/// at full speed. Where it meets copies, memory and ports are shared by bytes.
[[nodiscard]] Demand forward_demand(const Cluster& cluster, const FairShares& shares,
                                    const HardwareOptions& hardware, const ForwardWork& work);

}  // namespace eplb::sim
