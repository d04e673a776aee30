// Goal: the coefficients of an expert layer follow from the model and hardware files by the stated
// formulas. Method: round figures worked by hand.
#include "eplb/sim/machine.hpp"

#include <doctest/doctest.h>

#include "scenarios.hpp"

namespace eplb::sim {
namespace {

TEST_CASE("coefficients of a layer in one domain") {
  const Scenario s = test::small_scenario();
  const ExpertLayerCost cost = expert_layer_cost(s.model, s.hardware, s.parallel);
  CHECK(cost.start_ns == 10000);
  // 3 x 1000 x 1000 parameters of 2 bytes at 2000 GB/s x 0.5.
  CHECK(cost.ns_per_touched_expert == doctest::Approx(6000));
  // 6e6 FLOPs at 100 TFLOP/s x 0.5.
  CHECK(cost.ns_per_padded_row == doctest::Approx(120));
  // 2 bytes an element, 1000 wide, 3 of 4 rows to other ranks, at 400 GB/s.
  CHECK(cost.ns_per_dispatched_row == doctest::Approx(3.75));
  CHECK(cost.ns_per_combined_row == doctest::Approx(3.75));
  CHECK(cost.ns_per_assignment == 0);
}

TEST_CASE("what a calibrated file says beyond the peaks") {
  Scenario s = test::small_scenario();
  s.model.weight_format = WeightFormat::kMxfp4;
  s.hardware.fp8_tflops = 100;
  s.hardware.expert_layer_start_per_rank_us = 2;
  s.hardware.expert_wire_efficiency = 0.5;
  s.hardware.expert_row_bandwidth_gb_per_s = 1000;
  const ExpertLayerCost cost = expert_layer_cost(s.model, s.hardware, s.parallel);
  CHECK(cost.start_ns == doctest::Approx(10000 + 3 * 2000));
  // 8-bit rows with a scale byte for 32 elements; results are BF16.
  CHECK(cost.ns_per_dispatched_row == doctest::Approx(1031.25 * 0.75 / 200));
  CHECK(cost.ns_per_combined_row == doctest::Approx(2000 * 0.75 / 200));
  // In and between the GEMMs 1031.25 bytes, out 2000, each written and read.
  CHECK(cost.ns_per_assignment == doctest::Approx(2 * (2 * 1031.25 + 2000) / 1000));
}

TEST_CASE("over two domains the network is the longer way") {
  Scenario s = test::small_scenario();
  s.hardware.gpus_per_domain = 2;
  const ExpertLayerCost cost = expert_layer_cost(s.model, s.hardware, s.parallel);
  // Half of the rows come by the network: 2000 bytes x 0.5 at 40 GB/s.
  CHECK(cost.ns_per_dispatched_row == doctest::Approx(25));
  CHECK(cost.ns_per_combined_row == doctest::Approx(25));
}

TEST_CASE("with fewer ranks on a node than it has GPUs, a domain holds fewer ranks too") {
  Scenario s = test::small_scenario();
  s.parallel = {.ranks = 4, .ranks_per_node = 1};
  const Topology topology = topology_of(s.hardware, s.parallel).value();
  CHECK(topology.node_count() == 4);
  CHECK(topology.domain_count() == 2);
  // As over two domains of two ranks: half of the rows come by the network.
  CHECK(expert_layer_cost(s.model, s.hardware, s.parallel).ns_per_combined_row ==
        doctest::Approx(25));
}

TEST_CASE("the topology puts consecutive ranks on nodes and domains") {
  Scenario s = test::small_scenario();
  s.parallel = {.ranks = 6, .ranks_per_node = 2};
  const Topology topology = topology_of(s.hardware, s.parallel).value();
  CHECK(topology.node_count() == 3);
  CHECK(topology.domain_count() == 2);
  CHECK(topology.domain_of(RankId{3}) == DomainId{0});
  CHECK(topology.domain_of(RankId{4}) == DomainId{1});
}

}  // namespace
}  // namespace eplb::sim
