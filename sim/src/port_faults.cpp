#include "port_faults.hpp"

#include <algorithm>
#include <cmath>

#include "fault_times.hpp"

namespace eplb::sim {

PortFaults::PortFaults(EventEngine& engine, ClusterCarrier& carrier,
                       const HardwareOptions& hardware, const FaultOptions& faults)
    : engine_(engine), carrier_(carrier), hardware_(hardware), faults_(faults) {
  for (const FailedLinks& failed : faults_.failed_links) {
    expect(failed);
  }
  for (const SlowPort& slow : faults_.slow_ports) {
    expect(slow);
  }
}

void PortFaults::expect(const FaultSpan& span) {
  engine_.schedule(ns_of_ms(span.at_ms), Phase::kStart, *this, 0);
  if (span.until_ms) {
    engine_.schedule(ns_of_ms(*span.until_ms), Phase::kStart, *this, 0);
  }
}

void PortFaults::on_event(const Event& /*event*/) {
  apply();
}

double PortFaults::nvlink_share(RankId rank) const {
  double links = hardware_.nvlink_links;
  for (const FailedLinks& failed : faults_.failed_links) {
    if (failed.rank == rank.value && covers(failed, engine_.now_ns())) {
      links -= failed.links;
    }
  }
  double share = std::max(links, 1.0) / hardware_.nvlink_links;
  for (const SlowPort& slow : faults_.slow_ports) {
    if (slow.rank == rank.value && slow.port == Port::kNvlink && covers(slow, engine_.now_ns())) {
      share *= slow.share;
    }
  }
  return share;
}

double PortFaults::network_share(RankId rank) const {
  double share = 1;
  for (const SlowPort& slow : faults_.slow_ports) {
    if (slow.rank == rank.value && slow.port == Port::kNetwork && covers(slow, engine_.now_ns())) {
      share *= slow.share;
    }
  }
  return share;
}

void PortFaults::apply() {
  const Cluster& cluster = carrier_.cluster();
  const auto set = [&](ResourceId resource, double share) {
    carrier_.network().set_capacity(resource,
                                    cluster.resources()[resource.index()].capacity * share);
  };
  for (std::int32_t index = 0; index < cluster.rank_count(); ++index) {
    const RankId rank{index};
    const double share = nvlink_share(rank);
    set(cluster.egress(rank), share);
    set(cluster.ingress(rank), share);
  }
  for (const SlowPort& slow : faults_.slow_ports) {
    if (slow.port == Port::kNetwork && slow.rank < cluster.rank_count()) {
      const RankId rank{slow.rank};
      const std::int32_t nic = cluster.nics(rank).front();
      const NodeId node = cluster.node_of(rank);
      set(cluster.nic_out(node, nic), network_share(rank));
      set(cluster.nic_in(node, nic), network_share(rank));
    }
  }
}

}  // namespace eplb::sim
