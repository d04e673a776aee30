// Goal: the algorithms of the hosts cost what their rounds cost. Method: round figures by hand.
#include "eplb/sim/cluster/host_collectives.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

/// 40 us a TCP hop, 10 us a control hop, 1 us within a host of four, 2 bytes/ns.
double sum_us(HostCollectives algorithm, std::int32_t ranks, std::int64_t bytes) {
  HardwareOptions hardware = test::small_scenario().hardware;
  hardware.gpus_per_node = 4;
  hardware.tcp_hop_us = 40;
  hardware.control_hop_us = 10;
  hardware.control_hop_in_node_us = 1;
  hardware.gloo_bandwidth_gb_per_s = 2;
  const Topology topology = topology_of(hardware, {.ranks = ranks, .ranks_per_node = 4}).value();
  return reduction_ns(hardware, topology, algorithm, bytes) / 1e3;
}

TEST_CASE("a ring of sixteen takes thirty hops, one of thirty-two sixty-two") {
  CHECK(sum_us(HostCollectives::kRing, 16, 0) == 30 * 40);
  CHECK(sum_us(HostCollectives::kRing, 32, 0) == 62 * 40);
  // Each hop carries a sixteenth.
  CHECK(sum_us(HostCollectives::kRing, 16, 32'000) == doctest::Approx(30 * 41));
}

TEST_CASE("a tree grows with the logarithm, and a board in each host leaves it the hosts") {
  CHECK(sum_us(HostCollectives::kTree, 16, 0) == 2 * 4 * 10);
  CHECK(sum_us(HostCollectives::kTree, 17, 0) == 2 * 5 * 10);
  CHECK(sum_us(HostCollectives::kTree, 4, 0) == 2 * 2 * 1);
  CHECK(sum_us(HostCollectives::kSharedMemory, 16, 0) == 2 * 1 + 2 * 2 * 10);
  CHECK(sum_us(HostCollectives::kSharedMemory, 4, 2'000) == 2);
  CHECK(sum_us(HostCollectives::kTree, 16, 2'000) == 2 * 4 * 11);
}

TEST_CASE("one rank has nothing to wait for") {
  for (const HostCollectives algorithm :
       {HostCollectives::kRing, HostCollectives::kTree, HostCollectives::kSharedMemory}) {
    CHECK(sum_us(algorithm, 1, 1000) == 0);
  }
}

}  // namespace
}  // namespace eplb::sim
