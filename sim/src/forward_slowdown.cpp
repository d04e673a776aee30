#include "forward_slowdown.hpp"

#include <optional>
#include <utility>

#include "eplb/core/row_address.hpp"
#include "eplb/sim/cluster/cluster_carrier.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/machine.hpp"
#include "forward_load.hpp"

namespace eplb::sim {
namespace {

/// Remembers when the forward has ended; the copies beside it never do.
struct Forward final : FlowOwner, CarrierClient {
  explicit Forward(const EventEngine& events) : engine(events) {}

  void flow_ended(std::int64_t /*token*/) override { end_ns = engine.now_ns(); }

  void row_carried(std::int64_t /*token*/, bool /*failed*/) override {}

  const EventEngine& engine;
  std::optional<std::int64_t> end_ns;
};

}  // namespace

Result<double> forward_slowdown(const CopyStudy& study) {
  constexpr std::int64_t kForwardNs = 100'000'000;        // Long beside any copy's start,
  constexpr std::int64_t kCopyBytes = 1'000'000'000'000;  // and such a copy far longer.
  const auto topology = topology_of(
      study.hardware, {.ranks = study.rank_count, .ranks_per_node = study.hardware.gpus_per_node});
  if (!topology) {
    return tl::unexpected(topology.error());
  }
  EventEngine engine;
  Forward forward(engine);
  ClusterCarrier carrier(engine,
                         {.hardware = study.hardware,
                          .communicator = study.communicator,
                          .nixl_path = study.nixl_path},
                         *topology);
  ForwardDemand demand =
      forward_demand(carrier.cluster(), carrier.network().shares(), study.hardware,
                     {.duration_ns = kForwardNs, .others_ns = kForwardNs});
  static_cast<void>(carrier.network().hold(std::move(demand.reserved)));
  carrier.network().start(std::move(demand.shared), kForwardNs, 0, forward, 0);
  for (const CopyStudy::Pair& pair : study.pairs) {
    carrier.transfer(
        {.source = {.region = weights_region(LayerId{0}), .rank = RankId{pair.from}, .row = 0},
         .destination = {.region = kLandingRegion, .rank = RankId{pair.to}, .row = 0}},
        kCopyBytes, forward, 0);
  }
  while (!forward.end_ns.has_value() && engine.run_next()) {
  }
  return 1 - static_cast<double>(kForwardNs) / static_cast<double>(*forward.end_ns);
}

}  // namespace eplb::sim
