#include "eplb/sim/cluster/cluster_carrier.hpp"

#include <algorithm>

#include "eplb/core/communicator.hpp"
#include "eplb/sim/durations.hpp"

namespace eplb::sim {

ClusterCarrier::Machine::Machine(EventEngine& engine, const Options& options,
                                 const Topology& of_topology)
    : topology(of_topology), cluster(options.hardware, of_topology), network(engine) {
  for (const ClusterResource& resource : cluster.resources()) {
    network.add_resource(resource.capacity);
  }
  const auto ranks = static_cast<std::size_t>(topology.rank_count());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    gpus.push_back(std::make_unique<CopyStreams>(engine, network, options.copy_streams + 1,
                                                 options.hardware.copy_engines));
  }
  if (options.rate_limit_gb_per_s > 0) {  // 1e9 bytes a second are bytes a ns.
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      send_limits.push_back(network.add_resource(options.rate_limit_gb_per_s));
    }
  }
  issued_ns.resize(ranks, 0);
  called_ns.resize(ranks, -1);
  next_stream.resize(ranks, 0);
}

ClusterCarrier::ClusterCarrier(EventEngine& engine, Options options, const Topology& topology)
    : engine_(engine),
      options_(std::move(options)),
      machine_(std::make_unique<Machine>(engine_, options_, topology)) {}

void ClusterCarrier::set_topology(const Topology& topology) {
  past_.push_back(std::move(machine_));
  machine_ = std::make_unique<Machine>(engine_, options_, topology);
}

Path ClusterCarrier::path(RankId from, RankId to) const {
  const Topology& topology = machine_->topology;
  const bool in_node = topology.node_of(from) == topology.node_of(to);
  const bool in_domain = topology.domain_of(from) == topology.domain_of(to);
  if (options_.communicator == Communicator::kTorchGloo) {
    return Path::kHost;
  }
  if (options_.communicator == Communicator::kNixl) {
    switch (options_.nixl_path) {
      case NixlPath::kAuto:
        return in_node && in_domain ? Path::kNvlink : Path::kNetwork;
      case NixlPath::kNvlink:
        break;
      case NixlPath::kNetwork:
        return Path::kNetwork;
      case NixlPath::kTcp:
        return Path::kHost;
    }
  }
  return in_domain ? Path::kNvlink : Path::kNetwork;
}

ClusterCarrier::Way ClusterCarrier::make_way(RankId from, RankId to) const {
  const HardwareOptions& hardware = options_.hardware;
  const bool nccl = is_nccl(options_.communicator);
  const Path path = this->path(from, to);
  Way way;
  way.demand = machine_->cluster.demand(from, to, path, nccl ? Mover::kKernel : Mover::kCopyEngine);
  if (!machine_->send_limits.empty()) {
    way.demand.uses.push_back({.resource = machine_->send_limits[from.index()], .amount = 1});
  }
  switch (path) {
    case Path::kNvlink:
      way.latency_us = hardware.peer_copy_latency_us;
      way.needs_engine = !nccl;
      way.parallel = !nccl;
      if (nccl) {
        way.demand.cap =
            hardware.nccl_copy_bandwidth_gb_per_s.value_or(hardware.nvlink_bandwidth_gb_per_s);
        way.start_us = hardware.nccl_copy_start_us.value_or(hardware.peer_copy_start_us);
      } else {
        way.start_us = options_.batched_copies
                           ? hardware.batched_copy_start_us.value_or(hardware.peer_copy_start_us)
                           : hardware.peer_copy_start_us;
      }
      break;
    case Path::kNetwork:
      way.latency_us = hardware.network_copy_latency_us;
      way.start_us = hardware.network_copy_start_us;
      way.needs_engine = false;
      way.parallel = !nccl;
      break;
    case Path::kHost:
      way.needs_engine = false;
      way.parallel = false;
      if (options_.communicator == Communicator::kNixl) {
        way.demand.cap = hardware.tcp_bandwidth_gb_per_s;
        way.start_us = hardware.network_copy_start_us;
      } else {
        way.demand.cap = hardware.gloo_bandwidth_gb_per_s;
        way.start_us = hardware.gloo_copy_start_us;
      }
      break;
  }
  return way;
}

const ClusterCarrier::Way& ClusterCarrier::way(RankId from, RankId to) {
  const auto known = machine_->ways.find({from, to});
  if (known != machine_->ways.end()) {
    return known->second;
  }
  return machine_->ways.emplace(std::pair{from, to}, make_way(from, to)).first->second;
}

// A batched call costs the thread once, single calls once a tensor.
std::int64_t ClusterCarrier::issue(RankId rank) {
  const std::int64_t now_ns = engine_.now_ns();
  std::int64_t& issued_ns = machine_->issued_ns[rank.index()];
  const bool same_call =
      options_.batched_copies && std::exchange(machine_->called_ns[rank.index()], now_ns) == now_ns;
  const std::int32_t calls = options_.batched_copies ? 1 : options_.tensors_per_expert;
  if (!same_call) {
    issued_ns = std::max(issued_ns, now_ns) + calls * ns_of_us(options_.hardware.copy_issue_us);
  }
  return issued_ns;
}

void ClusterCarrier::transfer(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                              std::int64_t token) {
  // The reader drives its own one-sided reads; else the sender does.
  const RankId driver =
      options_.communicator == Communicator::kNixl ? copy.destination.rank : copy.source.rank;
  const Way& way = this->way(copy.source.rank, copy.destination.rank);
  std::size_t stream = 0;  // A communicator of kernels, or a socket, is one stream.
  if (way.parallel) {
    std::size_t& next = machine_->next_stream[driver.index()];
    stream = next;
    next = (next + 1) % static_cast<std::size_t>(options_.copy_streams);
  }
  machine_->gpus[driver.index()]->append(
      stream, {.demand = way.demand,
               .bytes = bytes,
               .issued_ns = issue(driver),
               .latency_ns = ns_of_us(way.latency_us),
               .start_ns = ns_of_us(options_.tensors_per_expert * way.start_us),
               .needs_engine = way.needs_engine,
               .client = &client,
               .token = token});
}

void ClusterCarrier::copy_locally(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                                  std::int64_t token) {
  const RankId rank = copy.destination.rank;
  machine_->gpus[rank.index()]->append(
      static_cast<std::size_t>(options_.copy_streams),
      {.demand = machine_->cluster.local_demand(rank),
       .bytes = bytes,
       .issued_ns = engine_.now_ns(),
       .latency_ns = ns_of_us(options_.hardware.local_copy_start_us),
       .client = &client,
       .token = token});
}

}  // namespace eplb::sim
