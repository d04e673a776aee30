#pragma once

#include <cstdint>

#include "eplb/core/options.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Time in ns of a reduction of `bytes` over the hosts of all ranks, whose result all of them have
/// at its end, from the moment when the last rank has come to it. A barrier has 0 bytes.
///   ring           2 (N - 1) hops one after another, each of 1/N of the bytes: gloo over TCP
///   tree           2 ceil(log2 N) hops of all bytes, over the network's control path
///   shared_memory  all ranks of a node at one board, then a tree over the nodes
[[nodiscard]] double reduction_ns(const HardwareOptions& hardware, const Topology& topology,
                                  HostCollectives algorithm, std::int64_t bytes);

}  // namespace eplb::sim
