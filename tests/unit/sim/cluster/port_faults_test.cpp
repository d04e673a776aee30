// Goal: ports lose and regain their rates when a run's faults say so. Method: the capacities of a
// small cluster at moments before, during and after.
#include "port_faults.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

struct World final : EventHandler {
  HardwareOptions hardware = test::small_scenario().hardware;
  FaultOptions faults;
  EventEngine engine;
  ClusterCarrier carrier{engine,
                         {.hardware = hardware},
                         topology_of(hardware, {.ranks = 4, .ranks_per_node = 2}).value()};

  bool arrived = false;

  void on_event(const Event& /*event*/) override { arrived = true; }

  /// Runs to a moment, whether something happens then or not.
  void run_to_ms(std::int64_t ms) {
    arrived = false;
    engine.schedule(ms * 1'000'000, Phase::kStart, *this, 0);
    while (!arrived) {
      REQUIRE(engine.run_next());
    }
  }

  [[nodiscard]] double capacity(ResourceId resource) {
    return carrier.network().shares().capacity(resource);
  }
};

TEST_CASE("failed links take their share of a port away, from then on") {
  World world;
  world.faults.failed_links = {{{.at_ms = 0}, 1, 9}, {{.at_ms = 0}, 1, 3}};
  PortFaults ports(world.engine, world.carrier, world.hardware, world.faults);
  CHECK(ports.any());
  world.run_to_ms(1);
  const Cluster& cluster = world.carrier.cluster();
  CHECK(world.capacity(cluster.egress(RankId{1})) == doctest::Approx(400.0 * 6 / 18));
  CHECK(world.capacity(cluster.ingress(RankId{1})) == doctest::Approx(400.0 * 6 / 18));
  CHECK(world.capacity(cluster.egress(RankId{0})) == 400);
  CHECK(ports.nvlink_share(RankId{1}) == doctest::Approx(1.0 / 3));
  CHECK(ports.network_share(RankId{1}) == 1);
}

TEST_CASE("a slow port is slow for its time, NVLink and card apart") {
  World world;
  world.faults.slow_ports = {{{.at_ms = 1, .until_ms = 3}, 2, Port::kNvlink, 0.25},
                             {{.at_ms = 2}, 3, Port::kNetwork, 0.5}};
  PortFaults ports(world.engine, world.carrier, world.hardware, world.faults);
  const Cluster& cluster = world.carrier.cluster();
  const ResourceId port = cluster.ingress(RankId{2});
  const ResourceId card = cluster.nic_out(cluster.node_of(RankId{3}), 1);
  CHECK(world.capacity(port) == 400);
  world.run_to_ms(2);
  CHECK(world.capacity(port) == 100);
  CHECK(world.capacity(card) == 20);
  CHECK(ports.nvlink_share(RankId{2}) == 0.25);
  world.run_to_ms(4);
  CHECK(world.capacity(port) == 400);
  CHECK(world.capacity(card) == 20);
}

}  // namespace
}  // namespace eplb::sim
