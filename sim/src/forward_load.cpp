#include "forward_load.hpp"

#include <algorithm>

namespace eplb::sim {
namespace {

/// So much before all others that it has all it wants when they have next to nothing.
constexpr double kBeforeAll = 1e3;

/// Uses of one kind of resource, of all ranks.
class Uses {
 public:
  Uses(const FairShares& shares, double amount) : shares_(shares), amount_(amount) {}

  void add(ResourceId resource, double most_share) {
    const double most = std::min(amount_, most_share * shares_.capacity(resource));
    if (most > 0) {
      uses_.push_back({.resource = resource, .amount = most});
    }
  }

  [[nodiscard]] std::vector<Use> take() { return std::move(uses_); }

 private:
  const FairShares& shares_;
  double amount_;
  std::vector<Use> uses_;
};

}  // namespace

ForwardDemand forward_demand(const Cluster& cluster, const FairShares& shares,
                             const HardwareOptions& hardware, const ForwardWork& work) {
  const auto duration_ns = static_cast<double>(std::max<std::int64_t>(work.duration_ns, 1));
  const double streaming = (work.weights_ns + work.others_ns) / duration_ns;
  const double memory = streaming * hardware.hbm_bandwidth_gb_per_s * hardware.hbm_efficiency;
  const double on_the_wire = work.wire_ns / duration_ns;
  const double port = on_the_wire * nvlink_peak_gb_per_s(hardware);
  const bool memory_most = streaming >= on_the_wire;
  constexpr double kHalf = 0.5;
  Uses memories(shares, memory);
  Uses ports(shares, port);
  for (std::int32_t index = 0; index < cluster.rank_count(); ++index) {
    const RankId rank{index};
    memories.add(cluster.memory(rank), memory_most ? 1 : kHalf);
    ports.add(cluster.egress(rank), memory_most ? kHalf : 1);
    ports.add(cluster.ingress(rank), memory_most ? kHalf : 1);
  }
  Uses& most = memory_most ? memories : ports;
  Uses& other = memory_most ? ports : memories;
  const double weight = 1 / std::max(memory_most ? memory : port, 1.0);
  return {.shared = {.uses = most.take(), .cap = 1, .weight = weight},
          .reserved = {.uses = other.take(), .cap = 1, .weight = kBeforeAll}};
}

}  // namespace eplb::sim
