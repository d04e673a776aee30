#include "eplb/sim/environment.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "eplb/core/assert.hpp"

namespace eplb::sim {

void SimLoadRecorder::count(const LoadMatrix& counts) {
  if (recording_) {
    pass_ = counts;
    pass_counted_ = true;
  }
}

void SimLoadRecorder::close_pass(bool keep) {
  EPLB_ASSERT(!landed_);
  landed_ = keep && pass_counted_;
  pass_counted_ = false;
}

const LoadMatrix* SimLoadRecorder::try_take() {
  const bool landed = landed_;
  landed_ = false;
  return landed ? &pass_ : nullptr;
}

void SimPlanner::submit(const PolicyProblem& problem) {
  EPLB_ASSERT(!plan_.has_value());
  plan_ = policy_.place(problem);
  const double plan_us = options_.plan_us_per_layer * problem.shape.layer_count;
  ready_ns_ = engine_.now_ns() + std::llround(plan_us * 1e3);
  engine_.schedule(ready_ns_, Phase::kCompletion, wake_, 0);
}

std::optional<Result<Placement>> SimPlanner::poll() {
  if (!plan_.has_value() || engine_.now_ns() < ready_ns_) {
    return std::nullopt;
  }
  return std::exchange(plan_, std::nullopt);
}

env::Ticket PlainTransport::start(const LayerMigration& layer) {
  const std::int64_t duration = duration_ns(layer);
  wire_ns_ += duration;
  landed_ns_.push_back(engine_.now_ns() + duration);
  engine_.schedule(landed_ns_.back(), Phase::kCompletion, wake_, 0);
  return env::Ticket{static_cast<std::int64_t>(landed_ns_.size()) - 1};
}

bool PlainTransport::has_landed(env::Ticket ticket) const {
  return engine_.now_ns() >= landed_ns_[static_cast<std::size_t>(ticket.value)];
}

std::int64_t PlainTransport::duration_ns(const LayerMigration& layer) const {
  const HardwareOptions& hardware = options_.hardware;
  const auto bytes = static_cast<double>(options_.bytes_per_expert);
  // 1 GB/s is 1 byte/ns.
  const double peer_ns = options_.tensors_per_expert * hardware.peer_copy_start_us * 1e3 +
                         bytes / hardware.peer_copy_bandwidth_gb_per_s;
  const double network_ns = options_.tensors_per_expert * hardware.network_copy_start_us * 1e3 +
                            bytes / hardware.network_copy_bandwidth_gb_per_s;

  struct Port {
    double peer_ns = 0;
    double network_ns = 0;
  };

  const auto rank_count = static_cast<std::size_t>(topology_.rank_count());
  std::vector<Port> egress(rank_count);
  std::vector<Port> ingress(rank_count);
  for (const Transfer& transfer : layer.remote) {
    const RankId source{transfer.source.value / options_.slots_per_rank};
    const RankId destination{transfer.destination.value / options_.slots_per_rank};
    const bool in_domain = topology_.domain_of(source) == topology_.domain_of(destination);
    for (Port* port : {&egress[source.index()], &ingress[destination.index()]}) {
      (in_domain ? port->peer_ns : port->network_ns) += in_domain ? peer_ns : network_ns;
    }
  }
  double busiest_ns = 0;
  for (const auto* ports : {&egress, &ingress}) {
    for (const Port& port : *ports) {
      busiest_ns = std::max({busiest_ns, port.peer_ns, port.network_ns});
    }
  }
  return std::llround(busiest_ns);
}

SimMapPublisher::SimMapPublisher(const Placement& initial) {
  for (const LayerPlacement& layer : initial.layers()) {
    maps_.push_back(LayerMap::from(layer));
  }
}

void SimMapPublisher::publish(LayerId layer, const LayerMap& map, env::PlacementEpoch /*epoch*/) {
  maps_[layer.index()] = map;
}

void DigestSink::record(const env::TraceRecord& record) {
  const std::array<std::int64_t, 4> words{record.time_ns, static_cast<std::int64_t>(record.event),
                                          record.subject, record.value};
  digest_.add(words);
}

}  // namespace eplb::sim
