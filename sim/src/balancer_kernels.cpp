#include "eplb/sim/balancer_kernels.hpp"

#include <algorithm>

namespace eplb::sim {

double record_kernel_ns(const HardwareOptions& hardware, LoadCounting counting,
                        const CountedPicks& picks) {
  const auto count = static_cast<double>(picks.picks);
  double ns = hardware.mapping_start_us * 1e3 + count * hardware.record_ns_per_pick;
  std::int64_t busiest = picks.busiest_logical;
  if (counting == LoadCounting::kPhysical) {
    busiest = picks.busiest_slot;
  } else if (counting == LoadCounting::kBoth) {
    busiest = std::max(picks.busiest_logical, picks.busiest_slot);
    ns += count * hardware.record_ns_second_count;
  }
  return ns + static_cast<double>(busiest) * hardware.record_ns_per_collision;
}

double mapping_ns(const HardwareOptions& hardware, const EngineOptions& engine, bool recording,
                  const CountedPicks& picks) {
  if (engine.replica_mapping == ReplicaMapping::kFused) {
    return hardware.fused_mapping_us * 1e3;
  }
  return recording ? record_kernel_ns(hardware, engine.load_counting, picks)
                   : hardware.mapping_start_us * 1e3;
}

}  // namespace eplb::sim
