// Goal: rows take their starts and their bytes over the way that their communicator goes, and share
// it. Method: the small scenario's round figures (300 GB/s and 5 us a copy within a domain, 30 GB/s
// and 50 us between), 6 MB rows of two tensors, times worked by hand.
#include "eplb/sim/cluster/cluster_carrier.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>

#include "eplb/sim/machine.hpp"
#include "fixed_timing.hpp"
#include "rows.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

using test::landing_row;
using test::weights_row;

constexpr std::int64_t kRowBytes = 6'000'000;

RowCopy row_from(std::int32_t from, std::int32_t to) {
  return {.source = weights_row(from, 0, 0), .destination = landing_row(to, 0)};
}

/// Four ranks on two nodes, in one NVLink domain or two.
struct World final : CarrierClient {
  EventEngine engine;
  ClusterCarrier carrier;
  std::map<std::int64_t, std::int64_t> carried_ns;

  explicit World(const ClusterCarrier::Options& options)
      : carrier(engine, options,
                topology_of(options.hardware, {.ranks = 4, .ranks_per_node = 2}).value()) {}

  void row_carried(std::int64_t token, bool failed) override {
    CHECK_FALSE(failed);
    carried_ns[token] = engine.now_ns();
  }

  void transfer(std::int32_t from, std::int32_t to, std::int64_t token) {
    carrier.transfer(row_from(from, to), kRowBytes, *this, token);
  }
};

ClusterCarrier::Options options_of(Communicator communicator, std::int32_t gpus_per_domain = 4) {
  ClusterCarrier::Options options{.hardware = test::small_scenario().hardware,
                                  .communicator = communicator,
                                  .tensors_per_expert = 2};
  options.hardware.gpus_per_domain = gpus_per_domain;
  return options;
}

std::int64_t alone_ns(const ClusterCarrier::Options& options, std::int32_t to) {
  World world(options);
  world.transfer(0, to, 0);
  test::run_all(world.engine);
  return world.carried_ns.at(0);
}

TEST_CASE("a pushed row takes its starts and its bytes, by NVLink in a domain, else by network") {
  // 2 x 5 us + 6 MB / 300 GB/s, 2 x 50 us + 6 MB / 30 GB/s.
  CHECK(alone_ns(options_of(Communicator::kSymmMem), 1) == 30'000);
  CHECK(alone_ns(options_of(Communicator::kSymmMem), 2) == 30'000);
  CHECK(alone_ns(options_of(Communicator::kSymmMem, 2), 2) == 300'000);
}

TEST_CASE("a one-sided read takes the way that its environment gives it") {
  ClusterCarrier::Options options = options_of(Communicator::kNixl);
  CHECK(alone_ns(options, 1) == 30'000);
  CHECK(alone_ns(options, 2) == 300'000);
  options.nixl_path = NixlPath::kNvlink;
  CHECK(alone_ns(options, 2) == 30'000);
  options.nixl_path = NixlPath::kNetwork;
  CHECK(alone_ns(options, 1) == 300'000);
  options.nixl_path = NixlPath::kTcp;
  // 2 x 50 us + 6 MB / 0.12 GB/s.
  CHECK(alone_ns(options, 2) == 50'100'000);
}

TEST_CASE("NCCL moves rows at a kernel's rate, gloo through the host") {
  // 2 x 5 us + 6 MB / 400 GB/s, 2 x 50 us + 6 MB / 40 GB/s, 2 x 100 us + 6 MB / 1 GB/s.
  for (const Communicator nccl : {Communicator::kTorchNccl, Communicator::kPynccl}) {
    CHECK(alone_ns(options_of(nccl), 2) == 25'000);
    CHECK(alone_ns(options_of(nccl, 2), 2) == 250'000);
  }
  CHECK(alone_ns(options_of(Communicator::kTorchGloo), 1) == 6'200'000);
}

TEST_CASE("NCCL's own figures replace those of kernels and copies") {
  ClusterCarrier::Options options = options_of(Communicator::kPynccl);
  options.hardware.nccl_copy_bandwidth_gb_per_s = 200;
  options.hardware.nccl_copy_start_us = 15;
  CHECK(alone_ns(options, 1) == 60'000);
}

TEST_CASE("a rate limit binds what a rank sends, and not what it receives") {
  ClusterCarrier::Options options = options_of(Communicator::kSymmMem);
  options.copy_streams = 2;
  options.rate_limit_gb_per_s = 100;
  World world(options);
  world.transfer(0, 1, 1);
  world.transfer(0, 2, 2);
  world.transfer(3, 1, 3);
  test::run_all(world.engine);
  // Rank 0's two rows share 100 GB/s, rank 3's has its own.
  CHECK(world.carried_ns[1] == 10'000 + 120'000);
  CHECK(world.carried_ns[2] == 10'000 + 120'000);
  CHECK(world.carried_ns[3] == 10'000 + 60'000);
}

TEST_CASE("on one stream a rank's rows go one after another, and a receiver's senders share it") {
  World world(options_of(Communicator::kSymmMem));
  world.transfer(0, 1, 1);
  world.transfer(0, 2, 2);
  world.transfer(3, 1, 3);
  test::run_all(world.engine);
  // The ports carry 400; a copy at 300 fills its own, so that two into one get half each.
  CHECK(world.carried_ns[1] == 10'000 + 40'000);
  CHECK(world.carried_ns[3] == 10'000 + 40'000);
  CHECK(world.carried_ns[2] == 50'000 + 30'000);
}

TEST_CASE("on two streams one row's starts hide behind another's bytes") {
  ClusterCarrier::Options options = options_of(Communicator::kSymmMem);
  options.copy_streams = 2;
  World world(options);
  for (std::int64_t row = 0; row < 4; ++row) {
    world.transfer(0, 1, row);
  }
  test::run_all(world.engine);
  // The first two share the port until 50 us, so do the next two after their starts.
  CHECK(world.carried_ns[0] == 50'000);
  CHECK(world.carried_ns[1] == 50'000);
  CHECK(world.carried_ns[3] == 100'000);
}

TEST_CASE("no more copies run than there are engines") {
  ClusterCarrier::Options options = options_of(Communicator::kSymmMem);
  options.copy_streams = 3;
  options.hardware.copy_engines = 1;
  World world(options);
  for (std::int64_t row = 0; row < 3; ++row) {
    world.transfer(0, static_cast<std::int32_t>(row) + 1, row);
  }
  test::run_all(world.engine);
  CHECK(world.carried_ns[0] == 30'000);
  CHECK(world.carried_ns[1] == 60'000);
  CHECK(world.carried_ns[2] == 90'000);
}

TEST_CASE("latency is paid by the copy that finds its stream idle, calls by the thread") {
  ClusterCarrier::Options options = options_of(Communicator::kSymmMem);
  options.hardware.peer_copy_latency_us = 4;
  World world(options);
  world.transfer(0, 1, 0);
  world.transfer(0, 1, 1);
  test::run_all(world.engine);
  CHECK(world.carried_ns[0] == 34'000);
  CHECK(world.carried_ns[1] == 64'000);
  options.hardware.copy_issue_us = 20;
  World slow(options);
  slow.transfer(0, 1, 0);
  slow.transfer(0, 1, 1);
  test::run_all(slow.engine);
  // Two calls a row, so that the stream runs dry between them.
  CHECK(slow.carried_ns[0] == 40'000 + 34'000);
  CHECK(slow.carried_ns[1] == 80'000 + 34'000);
  options.batched_copies = true;
  options.hardware.batched_copy_start_us = 1;
  World batched(options);
  batched.transfer(0, 1, 0);
  batched.transfer(0, 1, 1);
  test::run_all(batched.engine);
  CHECK(batched.carried_ns[0] == 20'000 + 4'000 + 22'000);
  CHECK(batched.carried_ns[1] == 20'000 + 4'000 + 44'000);
}

TEST_CASE("local copies run in order at the memory's rate, which they use twice") {
  World world(options_of(Communicator::kSymmMem));
  const RowCopy commit{.source = landing_row(0, 0), .destination = weights_row(0, 0, 0)};
  const RowCopy other{.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)};
  world.carrier.copy_locally(commit, kRowBytes, world, 0);
  world.carrier.copy_locally(commit, kRowBytes, world, 1);
  world.carrier.copy_locally(other, kRowBytes, world, 2);
  test::run_all(world.engine);
  // 2 x 6 MB / (2000 GB/s x 0.5).
  CHECK(world.carried_ns[0] == 12'000);
  CHECK(world.carried_ns[1] == 24'000);
  CHECK(world.carried_ns[2] == 12'000);
}

TEST_CASE("eight senders to one receiver get an eighth each") {
  ClusterCarrier::Options options = options_of(Communicator::kSymmMem);
  options.hardware.gpus_per_node = 16;
  options.hardware.gpus_per_domain = 16;
  options.hardware.peer_copy_start_us = 0;
  World world(options);
  world.carrier.set_topology(
      topology_of(options.hardware, {.ranks = 9, .ranks_per_node = 9}).value());
  for (std::int32_t sender = 1; sender <= 8; ++sender) {
    world.transfer(sender, 0, sender);
  }
  test::run_all(world.engine);
  for (std::int64_t sender = 1; sender <= 8; ++sender) {
    CHECK(world.carried_ns[sender] == 8 * 20'000);
  }
}

}  // namespace
}  // namespace eplb::sim
