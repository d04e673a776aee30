#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "eplb/sim/cluster/cluster_carrier.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Takes links and rates away from ports, and gives them back, when a run's faults say so.
class PortFaults final : private EventHandler {
 public:
  PortFaults(EventEngine& engine, ClusterCarrier& carrier, const HardwareOptions& hardware,
             const FaultOptions& faults);

  /// All ports as they are now: after the cluster has become another one.
  void apply();

  /// What is left of a rank's ports now, of the sort that its expert layers use most: (0, 1].
  [[nodiscard]] double nvlink_share(RankId rank) const;
  [[nodiscard]] double network_share(RankId rank) const;

  /// Whether any port of the run is ever slower.
  [[nodiscard]] bool any() const {
    return !faults_.failed_links.empty() || !faults_.slow_ports.empty();
  }

 private:
  void on_event(const Event& event) override;
  void expect(const FaultSpan& span);

  EventEngine& engine_;
  ClusterCarrier& carrier_;
  const HardwareOptions& hardware_;
  const FaultOptions& faults_;
};

}  // namespace eplb::sim
