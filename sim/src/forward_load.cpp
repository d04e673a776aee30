#include "forward_load.hpp"

#include <algorithm>

namespace eplb::sim {

Demand forward_demand(const Cluster& cluster, const FairShares& shares,
                      const HardwareOptions& hardware, const ForwardWork& work) {
  const auto duration_ns = static_cast<double>(std::max<std::int64_t>(work.duration_ns, 1));
  const double streaming = (work.weights_ns + work.others_ns) / duration_ns;
  const double memory = streaming * hardware.hbm_bandwidth_gb_per_s * hardware.hbm_efficiency;
  const double port = work.wire_ns / duration_ns * nvlink_peak_gb_per_s(hardware);
  Demand demand{.uses = {}, .cap = 1, .weight = 1 / std::max({memory, port, 1.0})};
  const auto use = [&](ResourceId resource, double amount) {
    const double most = std::min(amount, shares.capacity(resource));
    if (most > 0) {
      demand.uses.push_back({.resource = resource, .amount = most});
    }
  };
  for (std::int32_t index = 0; index < cluster.rank_count(); ++index) {
    const RankId rank{index};
    use(cluster.memory(rank), memory);
    use(cluster.egress(rank), port);
    use(cluster.ingress(rank), port);
  }
  return demand;
}

}  // namespace eplb::sim
