#include "hardware_timing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eplb::sim {
namespace {

// 1 GB/s is 1 byte/ns.

constexpr double kNsPerUs = 1e3;

/// Through host memory and TCP. Assumed: no figure of it is published beyond "far behind".
constexpr double kGlooGbPerS = 1.0;
constexpr double kGlooStartUs = 100;

/// A store that another host process sees, or one hop of a network between hosts. Assumed.
constexpr std::int64_t kMessageInNodeNs = 1'000;
constexpr std::int64_t kMessageAcrossNs = 15'000;

/// A pinned copy to the device and back: 60 KB take 6 us on an H200, 8 to 15 beside a push.
constexpr std::int64_t kReadBackNs = 10'000;

/// One map row in place, by a copy on the stream: about what a small copy takes on an H200.
constexpr std::int64_t kPublishNs = 2'000;

}  // namespace

HardwareTiming::HardwareTiming(Options options, Topology topology)
    : options_(std::move(options)), topology_(std::move(topology)) {
  set_topology(topology_);
}

void HardwareTiming::set_topology(Topology topology) {
  topology_ = std::move(topology);
  const auto ranks = static_cast<std::size_t>(topology_.rank_count());
  egress_free_ns_.resize(ranks, 0);
  ingress_free_ns_.resize(ranks, 0);
  local_free_ns_.resize(ranks, 0);
}

std::int64_t HardwareTiming::message_ns(RankId from, RankId to) {
  if (from == to) {
    return 0;
  }
  return topology_.node_of(from) == topology_.node_of(to) ? kMessageInNodeNs : kMessageAcrossNs;
}

double HardwareTiming::transfer_ns(const RowCopy& copy, std::int64_t bytes) const {
  const HardwareOptions& hardware = options_.hardware;
  const RankId from = copy.source.rank;
  const RankId to = copy.destination.rank;
  const bool in_domain = topology_.domain_of(from) == topology_.domain_of(to);
  double start_us = in_domain ? hardware.peer_copy_start_us : hardware.network_copy_start_us;
  double gb_per_s =
      in_domain ? hardware.peer_copy_bandwidth_gb_per_s : hardware.network_copy_bandwidth_gb_per_s;
  switch (options_.communicator) {
    case Communicator::kAuto:
    case Communicator::kSymmMem:
      break;
    case Communicator::kNixl:
      // UCX was seen to take the network between nodes of one NVLink domain (eplb-semantics 10.53).
      if (topology_.node_of(from) != topology_.node_of(to)) {
        start_us = hardware.network_copy_start_us;
        gb_per_s = hardware.network_copy_bandwidth_gb_per_s;
      }
      break;
    case Communicator::kTorchNccl:
    case Communicator::kPynccl:
      gb_per_s =
          in_domain ? hardware.nvlink_bandwidth_gb_per_s : hardware.network_bandwidth_gb_per_s;
      break;
    case Communicator::kTorchGloo:
      start_us = kGlooStartUs;
      gb_per_s = kGlooGbPerS;
      break;
  }
  return options_.tensors_per_expert * start_us * kNsPerUs + static_cast<double>(bytes) / gb_per_s;
}

Flight HardwareTiming::transfer(const RowCopy& copy, std::int64_t bytes, std::int64_t now_ns) {
  std::int64_t& egress = egress_free_ns_[copy.source.rank.index()];
  std::int64_t& ingress = ingress_free_ns_[copy.destination.rank.index()];
  const std::int64_t begin_ns = std::max({now_ns, egress, ingress});
  const std::int64_t end_ns = begin_ns + std::llround(transfer_ns(copy, bytes));
  egress = end_ns;
  ingress = end_ns;
  return {.end_ns = end_ns};
}

// A local copy reads and writes, so its bytes cross the memory twice.
Flight HardwareTiming::local_copy(const RowCopy& copy, std::int64_t bytes, std::int64_t now_ns) {
  const HardwareOptions& hardware = options_.hardware;
  const double gb_per_s = hardware.hbm_bandwidth_gb_per_s * hardware.hbm_efficiency / 2;
  std::int64_t& free_ns = local_free_ns_[copy.destination.rank.index()];
  free_ns = std::max(now_ns, free_ns) + std::llround(static_cast<double>(bytes) / gb_per_s);
  return {.end_ns = free_ns};
}

std::int64_t HardwareTiming::publish_ns(RankId /*rank*/) {
  return kPublishNs;
}

std::int64_t HardwareTiming::read_back_ns(RankId /*rank*/) {
  return kReadBackNs;
}

std::int64_t HardwareTiming::plan_ns(RankId /*rank*/, std::int32_t layer_count) {
  return std::llround(options_.hardware.plan_us_per_layer * layer_count * kNsPerUs);
}

}  // namespace eplb::sim
