// Goal: times follow from the machine's figures and from nothing else. Method: the small scenario's
// round figures (300 GB/s and 5 us a copy within a domain, 30 GB/s and 50 us between), 6 MB rows of
// two tensors, times worked by hand.
#include "hardware_timing.hpp"

#include <doctest/doctest.h>

#include "eplb/sim/machine.hpp"
#include "rows.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

using test::landing_row;
using test::weights_row;

constexpr std::int64_t kRowBytes = 6'000'000;

/// Four ranks on two nodes, in one NVLink domain or two.
HardwareTiming timing_of(Communicator communicator, std::int32_t gpus_per_domain) {
  HardwareOptions hardware = test::small_scenario().hardware;
  hardware.gpus_per_domain = gpus_per_domain;
  Topology topology = topology_of(hardware, {.ranks = 4, .ranks_per_node = 2}).value();
  return {{.hardware = hardware, .communicator = communicator, .tensors_per_expert = 2},
          std::move(topology)};
}

RowCopy row_from(std::int32_t from, std::int32_t to) {
  return {.source = weights_row(from, 0, 0), .destination = landing_row(to, 0)};
}

std::int64_t alone_ns(Communicator communicator, std::int32_t gpus_per_domain, std::int32_t to) {
  HardwareTiming timing = timing_of(communicator, gpus_per_domain);
  return timing.transfer(row_from(0, to), kRowBytes, 1000).end_ns - 1000;
}

TEST_CASE("a row takes its starts and its bytes over the slower of the ways there are") {
  // 2 x 5 us + 6 MB / 300 GB/s; 2 x 50 us + 6 MB / 30 GB/s.
  CHECK(alone_ns(Communicator::kSymmMem, 4, 1) == 30'000);
  CHECK(alone_ns(Communicator::kSymmMem, 4, 2) == 30'000);
  CHECK(alone_ns(Communicator::kSymmMem, 2, 2) == 300'000);
}

TEST_CASE("a one-sided read crosses nodes by the network even within a domain") {
  CHECK(alone_ns(Communicator::kNixl, 4, 1) == 30'000);
  CHECK(alone_ns(Communicator::kNixl, 4, 2) == 300'000);
}

TEST_CASE("NCCL moves rows at a kernel's rate, gloo through the host") {
  // 2 x 5 us + 6 MB / 400 GB/s; 2 x 50 us + 6 MB / 40 GB/s; 2 x 100 us + 6 MB / 1 GB/s.
  for (const Communicator nccl : {Communicator::kTorchNccl, Communicator::kPynccl}) {
    CHECK(alone_ns(nccl, 4, 2) == 25'000);
    CHECK(alone_ns(nccl, 2, 2) == 250'000);
  }
  CHECK(alone_ns(Communicator::kTorchGloo, 4, 1) == 6'200'000);
}

TEST_CASE("a rank sends one row after another and receives one after another") {
  HardwareTiming timing = timing_of(Communicator::kSymmMem, 4);
  CHECK(timing.transfer(row_from(0, 1), kRowBytes, 0).end_ns == 30'000);
  CHECK(timing.transfer(row_from(0, 2), kRowBytes, 0).end_ns == 60'000);
  CHECK(timing.transfer(row_from(3, 2), kRowBytes, 0).end_ns == 90'000);
  CHECK(timing.transfer(row_from(2, 3), kRowBytes, 0).end_ns == 30'000);
  CHECK(timing.transfer(row_from(1, 0), kRowBytes, 0).end_ns == 30'000);
  CHECK(timing.transfer(row_from(1, 0), kRowBytes, 500'000).end_ns == 530'000);
}

TEST_CASE("local copies share the memory's rate, which they use twice") {
  HardwareTiming timing = timing_of(Communicator::kSymmMem, 4);
  const RowCopy commit{.source = landing_row(0, 0), .destination = weights_row(0, 0, 0)};
  const RowCopy other{.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)};
  // 2 x 6 MB / (2000 GB/s x 0.5).
  CHECK(timing.local_copy(commit, kRowBytes, 0).end_ns == 12'000);
  CHECK(timing.local_copy(commit, kRowBytes, 0).end_ns == 24'000);
  CHECK(timing.local_copy(other, kRowBytes, 0).end_ns == 12'000);
}

TEST_CASE("messages take longer between nodes, none within a rank, and plans longer with layers") {
  HardwareTiming timing = timing_of(Communicator::kSymmMem, 4);
  CHECK(timing.message_ns(RankId{0}, RankId{0}) == 0);
  CHECK(timing.message_ns(RankId{0}, RankId{1}) == 1'000);
  CHECK(timing.message_ns(RankId{1}, RankId{2}) == 15'000);
  CHECK(timing.plan_ns(RankId{0}, 4) == 100'000);
  CHECK_FALSE(timing.repeats_message());
  CHECK_FALSE(timing.refuses_transfer(RankId{0}));
  CHECK_FALSE(timing.refuses_memory(RankId{0}));
}

TEST_CASE("ranks that come new have idle ports, and old ones keep theirs") {
  HardwareTiming timing = timing_of(Communicator::kNixl, 8);
  CHECK(timing.transfer(row_from(0, 1), kRowBytes, 0).end_ns == 30'000);
  timing.set_topology(
      topology_of(test::small_scenario().hardware, {.ranks = 6, .ranks_per_node = 6}).value());
  CHECK(timing.transfer(row_from(0, 5), kRowBytes, 0).end_ns == 60'000);
  CHECK(timing.transfer(row_from(4, 2), kRowBytes, 0).end_ns == 30'000);
}

}  // namespace
}  // namespace eplb::sim
