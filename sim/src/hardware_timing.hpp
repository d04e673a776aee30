#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "eplb/core/topology.hpp"
#include "eplb/sim/cluster/cluster_carrier.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Times of hosts and devices by the figures of a machine, and of hosts that are late by faults.
class HardwareTiming final : public GroupTiming {
 public:
  struct Options {
    HardwareOptions hardware;
    HostCollectives host_collectives = HostCollectives::kSharedMemory;
    FaultOptions faults = {};
    double boundary_idle_ms = 0;  ///< From the end of every forward to the ranks' next call.
    bool learns_shares = false;   ///< With every plan.
  };

  /// The carrier's issuing threads are the ranks' helper threads.
  HardwareTiming(const EventEngine& engine, const ClusterCarrier& carrier, Options options,
                 Topology topology);

  /// The group has another size from now on.
  void set_topology(Topology topology) { topology_ = std::move(topology); }

  /// By how much the latest host was late since the last call.
  [[nodiscard]] std::int64_t take_lateness_ns() { return std::exchange(lateness_ns_, 0); }

  [[nodiscard]] std::int64_t message_ns(RankId from, RankId to) override;
  [[nodiscard]] std::int64_t sum_ns(std::int64_t bytes) override;
  [[nodiscard]] std::int64_t publish_ns(RankId rank) override;
  [[nodiscard]] std::int64_t read_back_ns(RankId rank, std::int64_t bytes) override;
  [[nodiscard]] std::int64_t plan_ns(RankId rank, std::int32_t layer_count) override;
  [[nodiscard]] std::int64_t host_ns(RankId rank) override;
  [[nodiscard]] std::int64_t poll_ns(RankId rank) override;

 private:
  /// Until the end of a stall that the rank's host is in.
  [[nodiscard]] std::int64_t stalled_ns(RankId rank) const;

  const EventEngine& engine_;
  const ClusterCarrier& carrier_;
  Options options_;
  Topology topology_;
  std::int64_t lateness_ns_ = 0;
};

}  // namespace eplb::sim
