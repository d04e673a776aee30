// Goal: what a migration costs forwards follows from the hardware's figures. Method: round figures,
// worked by hand: an expert of 6 MB in two tensors, ports of 300 GB/s, memory of 2000.
#include "eplb/sim/policy_costs.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

MigrationCost migration_of(const Scenario& scenario) {
  return policy_costs(scenario, topology_of(scenario.hardware, scenario.parallel).value())
      .migration;
}

TEST_CASE("where ranks hold, a byte costs the time that it takes, with its copies' starts") {
  Scenario s = test::small_scenario();
  s.eplb.use_async = false;
  // 6 MB at 300 GB/s are 20 us, and two tensors start in 5 us each, one after another.
  CHECK(migration_of(s).wire_ns_per_byte == doctest::Approx(30'000 / 6e6));
}

TEST_CASE("beside a forward that leaves memory to spare a byte costs nothing on its way") {
  // A forward streams 1000 of 2000, and copies in and out take 600.
  CHECK(migration_of(test::small_scenario()).wire_ns_per_byte == 0);
}

TEST_CASE("beside a forward that wants more than there is a byte costs what it slows the forward") {
  Scenario s = test::small_scenario();
  s.hardware.hbm_efficiency = 0.9;
  // Of the 1800 that it wants the forward gets 2000 - 600 as long as bytes flow.
  CHECK(migration_of(s).wire_ns_per_byte ==
        doctest::Approx((1 - 1400.0 / 1800) / 300).epsilon(0.001));
}

TEST_CASE("over two domains the network's rate counts") {
  Scenario s = test::small_scenario();
  s.hardware.gpus_per_domain = 2;
  s.eplb.use_async = false;
  s.eplb.communicator = Communicator::kTorchGloo;
  s.hardware.gloo_bandwidth_gb_per_s = 2;
  s.hardware.gloo_copy_start_us = 100;
  CHECK(migration_of(s).wire_ns_per_byte == doctest::Approx((3e6 + 200e3) / 6e6));
}

TEST_CASE("a commit reads and writes each byte, and starts once a layer") {
  Scenario s = test::small_scenario();
  s.hardware.local_copy_bandwidth_gb_per_s = 500;
  s.hardware.local_copy_start_us = 16;
  s.hardware.map_publish_us = 3;
  const MigrationCost cost = migration_of(s);
  CHECK(cost.commit_ns_per_byte == doctest::Approx(2.0 / 500));
  CHECK(cost.commit_start_ns == doctest::Approx(19'000));
}

}  // namespace
}  // namespace eplb::sim
