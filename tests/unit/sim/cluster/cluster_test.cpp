// Goal: routes and what they take come from the graph. Method: an NVL72 of two trays, an HGX pair
// over the network, round figures, routes by name.
#include "eplb/sim/cluster/cluster.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

HardwareOptions hardware_of(std::int32_t gpus_per_node, std::int32_t gpus_per_domain) {
  HardwareOptions hardware = test::small_scenario().hardware;
  hardware.gpus_per_node = gpus_per_node;
  hardware.gpus_per_domain = gpus_per_domain;
  return hardware;
}

Cluster cluster_of(const HardwareOptions& hardware, std::int32_t ranks) {
  return {
      hardware,
      topology_of(hardware, {.ranks = ranks, .ranks_per_node = hardware.gpus_per_node}).value()};
}

std::vector<std::string> stations(const std::vector<Hop>& hops) {
  std::vector<std::string> names;
  names.reserve(hops.size());
  for (const Hop& hop : hops) {
    names.push_back(hop.to);
  }
  return names;
}

/// What the demand takes of a resource, by its name.
double taken(const Cluster& cluster, const Demand& demand, const std::string& name) {
  for (const Use& use : demand.uses) {
    if (cluster.resources()[use.resource.index()].name == name) {
      return use.amount;
    }
  }
  return 0;
}

using Names = std::vector<std::string>;

TEST_CASE("an NVL72 is 72 GPUs of 18 hosts at one set of switches") {
  HardwareOptions hardware = hardware_of(4, 72);
  hardware.nics_per_node = 4;
  const Cluster cluster = cluster_of(hardware, 72);
  // GPUs, hosts, cards, the switches, a leaf and the spine.
  CHECK(cluster.vertex_count() == 72 + 18 + 72 + 1 + 1 + 1);
  // Each GPU: switch, host and one card; each card: its host and leaf; both ways. And the spine.
  CHECK(cluster.edge_count() == 2 * (72 * 3 + 72 * 2 + 1));
  CHECK(stations(cluster.route(RankId{0}, RankId{71}, Path::kNvlink)) ==
        Names{"NVLink switches 0", "GPU 71"});
}

TEST_CASE("there is no NVLink between domains, and the network goes by cards, leaves and spine") {
  const Cluster cluster = cluster_of(hardware_of(8, 8), 16);
  CHECK(cluster.route(RankId{3}, RankId{9}, Path::kNvlink).empty());
  CHECK(stations(cluster.route(RankId{3}, RankId{9}, Path::kNetwork)) ==
        Names{"host 0 card 3", "leaf 0", "spine", "leaf 1", "host 1 card 1", "GPU 9"});
  CHECK(stations(cluster.route(RankId{3}, RankId{9}, Path::kHost)) ==
        Names{"host 0", "host 0 card 3", "leaf 0", "spine", "leaf 1", "host 1 card 1", "host 1",
              "GPU 9"});
}

TEST_CASE("within a host TCP goes through its memory alone") {
  const Cluster cluster = cluster_of(hardware_of(8, 8), 8);
  CHECK(stations(cluster.route(RankId{0}, RankId{7}, Path::kHost)) == Names{"host 0", "GPU 7"});
}

TEST_CASE("cards are dealt to GPUs in order, and more rails take those that follow") {
  HardwareOptions hardware = hardware_of(4, 8);
  hardware.nics_per_node = 2;
  hardware.network_rails = 2;
  const Cluster cluster = cluster_of(hardware, 8);
  CHECK(cluster.nics(RankId{0}) == std::vector{0, 1});
  CHECK(cluster.nics(RankId{3}) == std::vector{1, 0});
  CHECK(stations(cluster.route(RankId{0}, RankId{7}, Path::kNetwork, 1)) ==
        Names{"host 0 card 1", "leaf 0", "host 1 card 0", "GPU 7"});
}

TEST_CASE("a byte over NVLink takes of both ports by its mover's packets, and of both memories") {
  HardwareOptions hardware = hardware_of(2, 4);  // 300 GB/s by engines, 400 by kernels.
  hardware.nvlink_peak_gb_per_s = 600;
  const Cluster cluster = cluster_of(hardware, 4);
  const Demand engine = cluster.demand(RankId{0}, RankId{3}, Path::kNvlink, Mover::kCopyEngine);
  CHECK(taken(cluster, engine, "GPU 0 NVLink out") == 2);
  CHECK(taken(cluster, engine, "GPU 3 NVLink in") == 2);
  CHECK(taken(cluster, engine, "GPU 3 NVLink out") == 0);
  CHECK(taken(cluster, engine, "GPU 0 memory") == 1);
  CHECK(taken(cluster, engine, "GPU 3 memory") == 1);
  const Demand kernel = cluster.demand(RankId{0}, RankId{3}, Path::kNvlink, Mover::kKernel);
  CHECK(taken(cluster, kernel, "GPU 0 NVLink out") == 1.5);
}

TEST_CASE("acknowledgements come back the other way") {
  HardwareOptions hardware = hardware_of(2, 4);
  hardware.nvlink_bidirectional_efficiency = 0.8;
  const Cluster cluster = cluster_of(hardware, 4);
  const Demand demand = cluster.demand(RankId{0}, RankId{1}, Path::kNvlink, Mover::kCopyEngine);
  // The peak is what kernels reach, 400: 4/3 forth, a quarter of that back.
  CHECK(taken(cluster, demand, "GPU 1 NVLink out") == doctest::Approx(1.0 / 3));
  CHECK(taken(cluster, demand, "GPU 0 NVLink in") == doctest::Approx(1.0 / 3));
}

TEST_CASE("a transfer over two rails takes half of each card, at the copies' efficiency") {
  HardwareOptions hardware = hardware_of(4, 4);
  hardware.network_rails = 2;
  hardware.nic_bandwidth_gb_per_s = 20;  // 30 of 40 GB/s by copies: 3/4.
  hardware.network_oversubscription = 4;
  const Cluster cluster = cluster_of(hardware, 8);
  const Demand demand = cluster.demand(RankId{0}, RankId{4}, Path::kNetwork, Mover::kCopyEngine);
  CHECK(taken(cluster, demand, "host 0 card 0 out") == doctest::Approx(2.0 / 3));
  CHECK(taken(cluster, demand, "host 0 card 1 out") == doctest::Approx(2.0 / 3));
  CHECK(taken(cluster, demand, "leaf 0 to spine") == doctest::Approx(4.0 / 3));
  const ResourceId uplink = [&] {
    for (std::int32_t index = 0;; ++index) {
      if (cluster.resources()[static_cast<std::size_t>(index)].name == "leaf 0 to spine") {
        return ResourceId{index};
      }
    }
  }();
  CHECK(cluster.resources()[uplink.index()].capacity == 4 * 20.0 / 4);
}

TEST_CASE("a local byte is read and written") {
  const Cluster cluster = cluster_of(hardware_of(2, 4), 4);
  const Demand demand = cluster.local_demand(RankId{2});
  REQUIRE(demand.uses.size() == 1);
  CHECK(taken(cluster, demand, "GPU 2 memory") == 2);
  CHECK(demand.cap == 500);
}

}  // namespace
}  // namespace eplb::sim
