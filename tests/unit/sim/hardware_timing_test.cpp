// Goal: times of hosts follow from the machine's figures and from the run's faults. Method: the
// small scenario's figures on two nodes of two ranks, moments set by an event.
#include "hardware_timing.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "rows.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

struct World final : EventHandler, CarrierClient {
  HardwareOptions hardware;
  Topology topology;
  EventEngine engine;
  ClusterCarrier carrier;
  HardwareTiming timing;

  explicit World(const FaultOptions& faults = {}, double copy_issue_us = 0)
      : hardware(test::small_scenario().hardware),
        topology(topology_of(hardware, {.ranks = 4, .ranks_per_node = 2}).value()),
        carrier(engine, carrier_options(hardware, copy_issue_us), topology),
        timing(engine, carrier, {.hardware = hardware, .faults = faults}, topology) {}

  static ClusterCarrier::Options carrier_options(HardwareOptions hardware, double copy_issue_us) {
    hardware.copy_issue_us = copy_issue_us;
    return {.hardware = hardware, .tensors_per_expert = 4};
  }

  void on_event(const Event& /*event*/) override {}

  void row_carried(std::int64_t /*token*/, bool /*failed*/) override {}

  void run_to_us(std::int64_t us) {
    engine.schedule(us * 1000, Phase::kStart, *this, 0);
    REQUIRE(engine.run_next());
  }
};

TEST_CASE("messages take longer between nodes, none within a rank, and plans longer with layers") {
  World world;
  CHECK(world.timing.message_ns(RankId{0}, RankId{0}) == 0);
  CHECK(world.timing.message_ns(RankId{0}, RankId{1}) == 1'000);
  CHECK(world.timing.message_ns(RankId{1}, RankId{2}) == 15'000);
  CHECK(world.timing.plan_ns(RankId{0}, 4) == 100'000);
  CHECK(world.timing.publish_ns(RankId{0}) == 2'000);
  // 5 us, and 60 KB at 50 GB/s.
  CHECK(world.timing.read_back_ns(RankId{0}, 60'000) == 6'200);
  // A board in each of two hosts, and a tree of one level between them.
  CHECK(world.timing.sum_ns(1'000) == 2 * 1'000 + 2 * (15'000 + 1'000));
  CHECK_FALSE(world.timing.repeats_message());
  CHECK_FALSE(world.timing.refuses_transfer(RankId{0}));
  CHECK_FALSE(world.timing.refuses_memory(RankId{0}));
}

TEST_CASE("a plan takes longer where shares are learnt with it") {
  World world;
  world.hardware.learn_shares_us_per_layer = 10;
  HardwareTiming learning(world.engine, world.carrier,
                          {.hardware = world.hardware, .learns_shares = true}, world.topology);
  CHECK(learning.plan_ns(RankId{0}, 4) == 140'000);
}

TEST_CASE("a straggler is late at every step of its time, and the latest host is told once") {
  World world({.stragglers = {{{.at_ms = 1, .until_ms = 2}, 3, 70}, {{.at_ms = 0}, 1, 20}}});
  CHECK(world.timing.host_ns(RankId{3}) == 0);
  CHECK(world.timing.host_ns(RankId{1}) == 20'000);
  world.run_to_us(1500);
  CHECK(world.timing.host_ns(RankId{3}) == 70'000);
  CHECK(world.timing.take_lateness_ns() == 70'000);
  CHECK(world.timing.take_lateness_ns() == 0);
  world.run_to_us(2000);
  CHECK(world.timing.host_ns(RankId{3}) == 0);
}

TEST_CASE("a stalled host answers, and polls, when its stall has ended") {
  World world({.host_stalls = {{.rank = 2, .at_ms = 1, .duration_ms = 5}}});
  world.run_to_us(2000);
  CHECK(world.timing.host_ns(RankId{2}) == 4'000'000);
  CHECK(world.timing.poll_ns(RankId{2}) == 4'000'000);
  CHECK(world.timing.host_ns(RankId{0}) == 0);
  world.run_to_us(6000);
  CHECK(world.timing.poll_ns(RankId{2}) == 0);
}

TEST_CASE("a thread that issues copies does not poll meanwhile") {
  World world({}, 3);
  const RowCopy copy{.source = test::weights_row(1, 0, 0), .destination = test::landing_row(2, 0)};
  world.carrier.transfer(copy, 1000, world, 0);
  world.carrier.transfer(copy, 1000, world, 1);
  // Two rows of four tensors, a call each.
  CHECK(world.timing.poll_ns(RankId{1}) == 2 * 4 * 3'000);
  CHECK(world.timing.poll_ns(RankId{2}) == 0);
}

}  // namespace
}  // namespace eplb::sim
