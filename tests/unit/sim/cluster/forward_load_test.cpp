// Goal: a forward runs at full speed alone, and shares memory and ports with copies by bytes.
// Method: figures of an H200's memory, a kernel that streams all the time, pushes one way and both.
#include "forward_load.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "eplb/sim/machine.hpp"
#include "fixed_timing.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

struct World final : FlowOwner {
  HardwareOptions hardware;
  EventEngine engine;
  FlowNetwork network{engine};
  FlowId reserved;
  std::int64_t forward_end_ns = 0;
  std::int64_t copy_end_ns = 0;

  World() : hardware(test::small_scenario().hardware) {
    hardware.hbm_bandwidth_gb_per_s = 4800;
    hardware.hbm_efficiency = 4300.0 / 4800;
    hardware.hbm_shared_efficiency = 0.92;
    hardware.peer_copy_bandwidth_gb_per_s = 395;
    hardware.nvlink_bandwidth_gb_per_s = 369;
    hardware.nvlink_peak_gb_per_s = 450;
    hardware.nvlink_bidirectional_efficiency = 0.9886;
  }

  void flow_ended(std::int64_t token) override {
    if (token == 0) {
      forward_end_ns = engine.now_ns();
      network.release(reserved);
    } else {
      copy_end_ns = engine.now_ns();
    }
  }

  /// Time of a forward of 1 ms, beside a copy from each of `senders` to the other rank.
  std::int64_t forward_ns(const std::vector<std::int32_t>& senders, const ForwardWork& work) {
    const Cluster cluster(hardware,
                          topology_of(hardware, {.ranks = 2, .ranks_per_node = 2}).value());
    for (const ClusterResource& resource : cluster.resources()) {
      network.add_resource(resource.capacity);
    }
    ForwardDemand demand = forward_demand(cluster, network.shares(), hardware, work);
    reserved = network.hold(std::move(demand.reserved));
    network.start(std::move(demand.shared), static_cast<double>(work.duration_ns), 0, *this, 0);
    for (const std::int32_t sender : senders) {
      network.start(
          cluster.demand(RankId{sender}, RankId{1 - sender}, Path::kNvlink, Mover::kCopyEngine),
          1e9, 0, *this, 1);
    }
    test::run_all(engine);
    return forward_end_ns;
  }
};

constexpr ForwardWork kStreams{.duration_ns = 1'000'000, .weights_ns = 1e6};

TEST_CASE("alone a forward lasts as long as it was planned, to the nanosecond") {
  CHECK(World().forward_ns({}, kStreams) == 1'000'000);
  CHECK(World().forward_ns({}, {.duration_ns = 123'457, .wire_ns = 123'457}) == 123'457);
  CHECK(World().forward_ns({}, {.duration_ns = 7, .others_ns = 7}) == 7);
}

TEST_CASE("a push slows a kernel that streams by about 6 percent, pushes both ways by 16") {
  // As measured on two H200: the memory's shared efficiency is fitted to these two.
  const auto one_way = static_cast<double>(World().forward_ns({0}, kStreams));
  const auto both_ways = static_cast<double>(World().forward_ns({0, 1}, kStreams));
  CHECK(1 - 1e6 / one_way == doctest::Approx(0.06).epsilon(0.15));
  CHECK(1 - 1e6 / both_ways == doctest::Approx(0.16).epsilon(0.15));
}

TEST_CASE(
    "a forward that uses the port a little keeps that, and the copy takes the rest meanwhile") {
  World world;
  // A tenth of the time on the wire: 45 of 450, while 1 ms lasts.
  CHECK(world.forward_ns({0}, {.duration_ns = 1'000'000, .weights_ns = 2e5, .wire_ns = 1e5}) ==
        1'000'000);
  // 395 bytes/ns but for that millisecond, in which it has nine tenths of the port.
  CHECK(static_cast<double>(world.copy_end_ns) == doctest::Approx(1e9 / 395 + 0.1e6).epsilon(1e-6));
}

TEST_CASE("a forward that computes is not slowed, one that sends all the time shares its port") {
  CHECK(World().forward_ns({0, 1}, {.duration_ns = 1'000'000}) == 1'000'000);
  // The copy takes as much of the full port for as long, and 450 of it for 395 bytes.
  CHECK(World().forward_ns({0}, {.duration_ns = 1'000'000, .wire_ns = 1e6}) ==
        doctest::Approx(1e6 * (1 + 450.0 / 395)));
}

}  // namespace
}  // namespace eplb::sim
