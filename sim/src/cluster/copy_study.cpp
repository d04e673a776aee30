#include "eplb/sim/cluster/copy_study.hpp"

#include "eplb/core/row_address.hpp"
#include "eplb/sim/cluster/cluster_carrier.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/machine.hpp"

namespace eplb::sim {
namespace {

/// Remembers when the last copy has arrived.
struct Arrivals final : CarrierClient {
  explicit Arrivals(const EventEngine& events) : engine(events) {}

  void row_carried(std::int64_t /*token*/, bool /*failed*/) override { last_ns = engine.now_ns(); }

  const EventEngine& engine;
  std::int64_t last_ns = 0;
};

}  // namespace

Result<double> copies_us(const CopyStudy& study) {
  const auto topology = topology_of(
      study.hardware, {.ranks = study.rank_count, .ranks_per_node = study.hardware.gpus_per_node});
  if (!topology) {
    return tl::unexpected(topology.error());
  }
  EventEngine engine;
  Arrivals arrivals(engine);
  ClusterCarrier carrier(engine,
                         {.hardware = study.hardware,
                          .communicator = study.communicator,
                          .nixl_path = study.nixl_path,
                          .copy_streams = study.copy_streams,
                          .batched_copies = study.batched_copies},
                         *topology);
  for (std::int64_t copy = 0; copy < study.copies; ++copy) {
    for (const CopyStudy::Pair& pair : study.pairs) {
      carrier.transfer(
          {.source = {.region = weights_region(LayerId{0}), .rank = RankId{pair.from}, .row = 0},
           .destination = {.region = kLandingRegion, .rank = RankId{pair.to}, .row = 0}},
          study.bytes / study.copies, arrivals, copy);
    }
  }
  while (engine.run_next()) {
  }
  return static_cast<double>(arrivals.last_ns) * 1e-3;
}

}  // namespace eplb::sim
