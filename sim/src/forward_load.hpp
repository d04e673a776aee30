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

/// A forward's demands, as flows whose unit is a nanosecond of its work. All ranks run it together,
/// each as loaded as the busiest, so whoever is in the way on one rank is in the way of all.
struct ForwardDemand {
  /// Of what it uses most, memory or ports: where it meets copies, that is shared by bytes, and the
  /// forward lasts longer. Alone it goes at full speed.
  Demand shared;
  /// Of the other, which it needs the less of: taken for it as long as it runs, at most half.
  Demand reserved;
};

[[nodiscard]] ForwardDemand forward_demand(const Cluster& cluster, const FairShares& shares,
                                           const HardwareOptions& hardware,
                                           const ForwardWork& work);

}  // namespace eplb::sim
