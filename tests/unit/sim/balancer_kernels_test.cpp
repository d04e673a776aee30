// Goal: mapping and counting cost what the figures say. Method: sums worked by hand.
#include "eplb/sim/balancer_kernels.hpp"

#include <doctest/doctest.h>

namespace eplb::sim {
namespace {

HardwareOptions figures() {
  HardwareOptions hardware;
  hardware.fused_mapping_us = 0.5;
  hardware.mapping_start_us = 2;
  hardware.record_ns_per_pick = 0.25;
  hardware.record_ns_second_count = 0.125;
  hardware.record_ns_per_collision = 0.5;
  return hardware;
}

constexpr CountedPicks kPicks{.picks = 8000, .busiest_logical = 4000, .busiest_slot = 1000};

TEST_CASE("each way of counting pays for its picks and for its busiest counter") {
  CHECK(record_kernel_ns(figures(), LoadCounting::kLogical, kPicks) == 2000 + 2000 + 2000);
  CHECK(record_kernel_ns(figures(), LoadCounting::kPhysical, kPicks) == 2000 + 2000 + 500);
  CHECK(record_kernel_ns(figures(), LoadCounting::kBoth, kPicks) == 2000 + 2000 + 1000 + 2000);
}

TEST_CASE("a fused kernel adds its share, whatever it counts") {
  CHECK(mapping_ns(figures(), {}, true, kPicks) == 500);
  CHECK(mapping_ns(figures(), {}, false, kPicks) == 500);
}

TEST_CASE("a kernel of its own counts only while the gate is open") {
  EngineOptions engine;
  engine.replica_mapping = ReplicaMapping::kSeparate;
  CHECK(mapping_ns(figures(), engine, true, kPicks) == 6000);
  CHECK(mapping_ns(figures(), engine, false, kPicks) == 2000);
}

}  // namespace
}  // namespace eplb::sim
