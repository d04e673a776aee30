#include "hardware_timing.hpp"

#include <cmath>

#include "eplb/sim/cluster/host_collectives.hpp"
#include "eplb/sim/durations.hpp"
#include "fault_times.hpp"

namespace eplb::sim {
HardwareTiming::HardwareTiming(const EventEngine& engine, const ClusterCarrier& carrier,
                               Options options, Topology topology)
    : engine_(engine),
      carrier_(carrier),
      options_(std::move(options)),
      topology_(std::move(topology)) {}

std::int64_t HardwareTiming::message_ns(RankId from, RankId to) {
  if (from == to) {
    return 0;
  }
  const HardwareOptions& hardware = options_.hardware;
  return ns_of_us(topology_.node_of(from) == topology_.node_of(to) ? hardware.control_hop_in_node_us
                                                                   : hardware.control_hop_us);
}

std::int64_t HardwareTiming::sum_ns(std::int64_t bytes) {
  return std::llround(reduction_ns(options_.hardware, topology_, options_.host_collectives, bytes));
}

std::int64_t HardwareTiming::publish_ns(RankId /*rank*/) {
  return ns_of_us(options_.hardware.map_publish_us);
}

std::int64_t HardwareTiming::read_back_ns(RankId /*rank*/, std::int64_t bytes) {
  return ns_of_us(options_.hardware.host_link_latency_us) +
         std::llround(static_cast<double>(bytes) / options_.hardware.host_link_bandwidth_gb_per_s);
}

std::int64_t HardwareTiming::plan_ns(RankId /*rank*/, std::int32_t layer_count) {
  const double learning_us =
      options_.learns_shares ? options_.hardware.learn_shares_us_per_layer : 0;
  return ns_of_us((options_.hardware.plan_us_per_layer + learning_us) * layer_count);
}

std::int64_t HardwareTiming::stalled_ns(RankId rank) const {
  std::int64_t left_ns = 0;
  for (const HostStall& stall : options_.faults.host_stalls) {
    const std::int64_t begin_ns = ns_of_ms(stall.at_ms);
    const std::int64_t end_ns = ns_of_ms(stall.at_ms + stall.duration_ms);
    if (stall.rank == rank.value && begin_ns <= engine_.now_ns() && engine_.now_ns() < end_ns) {
      left_ns = std::max(left_ns, end_ns - engine_.now_ns());
    }
  }
  return left_ns;
}

std::int64_t HardwareTiming::host_ns(RankId rank) {
  std::int64_t late_ns = stalled_ns(rank) + ns_of_ms(options_.boundary_idle_ms);
  for (const Straggler& straggler : options_.faults.stragglers) {
    if (straggler.rank == rank.value && covers(straggler, engine_.now_ns())) {
      late_ns += ns_of_us(straggler.late_us);
    }
  }
  lateness_ns_ = std::max(lateness_ns_, late_ns);
  return late_ns;
}

std::int64_t HardwareTiming::poll_ns(RankId rank) {
  const std::int64_t issuing_ns = carrier_.issuing_until_ns(rank) - engine_.now_ns();
  return std::max({issuing_ns, stalled_ns(rank), std::int64_t{0}});
}

}  // namespace eplb::sim
