#include "eplb/sim/cluster/host_collectives.hpp"

#include <bit>
#include <cmath>

namespace eplb::sim {
namespace {

constexpr double kNsPerUs = 1e3;

/// Rounds in which everybody has heard of everybody.
double tree_depth(std::int32_t members) {
  return static_cast<double>(std::bit_width(static_cast<std::uint32_t>(members - 1)));
}

}  // namespace

double reduction_ns(const HardwareOptions& hardware, const Topology& topology,
                    HostCollectives algorithm, std::int64_t bytes) {
  const std::int32_t ranks = topology.rank_count();
  const std::int32_t nodes = topology.node_count();
  if (ranks == 1) {
    return 0;
  }
  const double wire_ns = static_cast<double>(bytes) / hardware.gloo_bandwidth_gb_per_s;
  const double in_node_ns = hardware.control_hop_in_node_us * kNsPerUs;
  const double across_ns = hardware.control_hop_us * kNsPerUs;
  switch (algorithm) {
    case HostCollectives::kRing:
      return 2.0 * (ranks - 1) * (hardware.tcp_hop_us * kNsPerUs + wire_ns / ranks);
    case HostCollectives::kTree:
      return 2 * tree_depth(ranks) * ((nodes > 1 ? across_ns : in_node_ns) + wire_ns);
    case HostCollectives::kSharedMemory:
      return 2 * in_node_ns + 2 * tree_depth(nodes) * (across_ns + wire_ns);
  }
  return 0;
}

}  // namespace eplb::sim
