// Goal: the simulated environment keeps the promises of core's interfaces. Method: each class
// alone, times worked by hand.
#include "eplb/sim/environment.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

class WakeCount final : public EventHandler {
 public:
  void on_event(const Event& /*event*/) override { ++count; }

  int count = 0;
};

/// Two slots a rank on four ranks; 6 MB an expert in two tensors.
PlainTransport::Options transport_options(std::int32_t gpus_per_domain) {
  PlainTransport::Options options{.bytes_per_expert = 6'000'000,
                                  .tensors_per_expert = 2,
                                  .slots_per_rank = 2,
                                  .hardware = test::small_scenario().hardware};
  options.hardware.gpus_per_domain = gpus_per_domain;
  return options;
}

Transfer transfer(std::int32_t source, std::int32_t destination) {
  return {
      .expert = LogicalExpertId{0}, .source = SlotId{source}, .destination = SlotId{destination}};
}

TEST_CASE("a layer has landed when its busiest port is done") {
  EventEngine engine;
  WakeCount wake;
  const auto options = transport_options(4);
  const Topology topology =
      topology_of(options.hardware, {.ranks = 4, .ranks_per_node = 2}).value();
  PlainTransport transport(engine, wake, topology, options);
  // Rank 0 sends two experts, each 2 x 5 us + 6 MB / 300 GB/s = 30 us; rank 3 receives one.
  const env::Ticket ticket =
      transport.start({.layer = LayerId{0},
                       .remote = {transfer(0, 2), transfer(1, 4), transfer(5, 6)},
                       .local = {},
                       .duplicates = {}});
  CHECK_FALSE(transport.has_landed(ticket));
  REQUIRE(engine.run_next());
  CHECK(engine.now_ns() == 60'000);
  CHECK(wake.count == 1);
  CHECK(transport.has_landed(ticket));
  CHECK(transport.wire_ns() == 60'000);
}

TEST_CASE("incast is paid at the receiver's port, and networks are slower") {
  EventEngine engine;
  WakeCount wake;
  const auto options = transport_options(2);
  const Topology topology =
      topology_of(options.hardware, {.ranks = 4, .ranks_per_node = 2}).value();
  PlainTransport transport(engine, wake, topology, options);
  // Two experts arrive on rank 2 from another domain: each 2 x 50 us + 6 MB / 30 GB/s = 300 us.
  const env::Ticket ticket = transport.start({.layer = LayerId{0},
                                              .remote = {transfer(0, 4), transfer(2, 5)},
                                              .local = {},
                                              .duplicates = {}});
  REQUIRE(engine.run_next());
  CHECK(engine.now_ns() == 600'000);
  CHECK(transport.has_landed(ticket));
}

TEST_CASE("a pass that is not kept, or not recorded, is never handed out") {
  SimLoadRecorder recorder;
  const LoadMatrix counts = LoadMatrix::Constant(1, 2, 3);
  recorder.count(counts);
  recorder.close_pass(true);
  CHECK(recorder.try_take() == nullptr);
  recorder.set_recording(true);
  recorder.count(counts);
  recorder.close_pass(false);
  CHECK(recorder.try_take() == nullptr);
  recorder.count(counts);
  recorder.close_pass(true);
  const LoadMatrix* taken = recorder.try_take();
  REQUIRE(taken != nullptr);
  CHECK(*taken == counts);
  CHECK(recorder.try_take() == nullptr);
}

}  // namespace
}  // namespace eplb::sim
