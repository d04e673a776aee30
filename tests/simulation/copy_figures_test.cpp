// Goal: copies take what was measured and published, from few figures of a hardware file. Method:
// the shipped files; the rows of the table of copies between two H200 (November 2026,
// docs/simulation.md) from four fitted figures, peer_copy_bandwidth, peer_copy_start,
// batched_copy_start and peer_copy_latency; the migration table of vLLM pull request 62009, each of
// whose rows has a figure of its own.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/sim/cluster/copy_study.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kLayerBytes = 470'000'000;

Scenario shipped(const std::string& name) {
  config::LoadOptions options;
  options.config_dirs = {EPLB_SOURCE_DIR "/configs"};
  const auto loaded = config::load_config(EPLB_SOURCE_DIR "/configs/" + name, options);
  REQUIRE(loaded.has_value());
  return loaded->scenario;
}

struct Row {
  const char* name;
  double measured;  ///< GB/s one way, or us.
  std::int64_t bytes = kLayerBytes;
  std::int64_t copies = 1;
  bool batched = false;
  std::int32_t streams = 1;
  bool both_ways = false;
  bool in_us = false;
};

double predicted(const HardwareOptions& hardware, const Row& row) {
  CopyStudy study{.hardware = hardware,
                  .pairs = {{.from = 0, .to = 1}},
                  .bytes = row.bytes,
                  .copies = row.copies,
                  .copy_streams = row.streams,
                  .batched_copies = row.batched};
  if (row.in_us) {
    study.hardware.copy_issue_us = 0;  // From event to event, on the device.
  }
  if (row.both_ways) {
    study.pairs.push_back({.from = 1, .to = 0});
  }
  const double us = copies_us(study).value();
  return row.in_us ? us : static_cast<double>(row.bytes) * 1e-3 / us;
}

TEST_CASE("copies between two H200 are within 5 percent of the measured table") {
  const HardwareOptions hardware = shipped("h200-ep8.yaml").hardware;
  const std::vector<Row> rows{
      {.name = "bulk, one way", .measured = 395},
      {.name = "bulk, both ways, each", .measured = 781.0 / 2, .both_ways = true},
      {.name = "25 copies, a call each", .measured = 368, .copies = 25},
      {.name = "100 copies, a call each", .measured = 323, .copies = 100},
      {.name = "250 copies, a call each", .measured = 261, .copies = 250},
      {.name = "1000 copies, a call each", .measured = 134, .copies = 1000},
      {.name = "25 copies in a batch", .measured = 390, .copies = 25, .batched = true},
      {.name = "100 copies in a batch", .measured = 362, .copies = 100, .batched = true},
      {.name = "250 copies in a batch", .measured = 349, .copies = 250, .batched = true},
      {.name = "1000 copies in a batch", .measured = 230, .copies = 1000, .batched = true},
      {.name = "a layer's 100 tensors, a call each", .measured = 319, .copies = 100},
      {.name = "a layer's 100 tensors, one batch", .measured = 375, .copies = 100, .batched = true},
      {.name = "a layer's 100 tensors, batches on two streams",
       .measured = 381,
       .copies = 100,
       .batched = true,
       .streams = 2},
      {.name = "16 B", .measured = 4.9, .bytes = 16, .in_us = true},
      {.name = "64 KB", .measured = 5.2, .bytes = 65'536, .in_us = true},
      {.name = "1 MB", .measured = 7.6, .bytes = 1 << 20, .in_us = true},
      {.name = "8 MB", .measured = 26.5, .bytes = 8 << 20, .in_us = true}};
  for (const Row& row : rows) {
    const double value = predicted(hardware, row);
    const std::string name = row.name;
    MESSAGE(name, ": measured ", row.measured, ", predicted ", value, ", ",
            100 * (value / row.measured - 1), " %");
    CHECK(value == doctest::Approx(row.measured).epsilon(0.05));
  }
}

TEST_CASE("a pinned copy between host and device is within 5 percent of the measured one") {
  // Both figures of the host link are fitted to these three rows.
  const HardwareOptions hardware = shipped("h200-ep8.yaml").hardware;
  const auto pinned_us = [&](double bytes) {
    return hardware.host_link_latency_us + bytes * 1e-3 / hardware.host_link_bandwidth_gb_per_s;
  };
  CHECK(pinned_us(64) == doctest::Approx(5.1).epsilon(0.05));
  CHECK(pinned_us(65'536) == doctest::Approx(6.6).epsilon(0.05));
  CHECK(pinned_us(1 << 20) == doctest::Approx(24).epsilon(0.05));
}

struct Migration {
  const char* name;
  const char* source;
  double published_gb_per_s;
  Communicator communicator;
  NixlPath path = NixlPath::kAuto;
  std::int64_t copies = 100;
  std::int32_t streams = 1;
};

TEST_CASE("one layer of 25 experts moves between two trays as it was published") {
  const HardwareOptions hardware = shipped("gb200-dep32.yaml").hardware;
  const std::vector<Migration> rows{
      {"symm_mem in bulk", "peer_copy_bandwidth, fitted", 808, Communicator::kSymmMem,
       NixlPath::kAuto, 1},
      {"symm_mem as 100 tensors", "peer_copy_start, fitted", 294, Communicator::kSymmMem},
      {"nixl over RoCE", "network_copy_bandwidth, fitted", 88, Communicator::kNixl, NixlPath::kAuto,
       100, 2},
      {"nixl over TCP", "tcp_bandwidth, fitted", 0.12, Communicator::kNixl, NixlPath::kTcp, 100,
       2}};
  double slower_than = 1e9;
  for (const Migration& row : rows) {
    const double us = copies_us({.hardware = hardware,
                                 .communicator = row.communicator,
                                 .nixl_path = row.path,
                                 .pairs = {{.from = 0, .to = 4}},
                                 .bytes = kLayerBytes,
                                 .copies = row.copies,
                                 .copy_streams = row.streams,
                                 .rank_count = 8})
                          .value();
    const double gb_per_s = static_cast<double>(kLayerBytes) * 1e-3 / us;
    const std::string name = row.name;
    const std::string source = row.source;
    MESSAGE(name, " (", source, "): published ", row.published_gb_per_s, ", predicted ", gb_per_s);
    CHECK(gb_per_s == doctest::Approx(row.published_gb_per_s).epsilon(0.05));
    CHECK(gb_per_s < slower_than);
    slower_than = gb_per_s;
  }
}

TEST_CASE("a tray that reads by RDMA on all GPUs has only its cards for it") {
  // Predicted: nobody has published it. One pair is striped over two cards, four pairs share four.
  const HardwareOptions hardware = shipped("gb200-dep32.yaml").hardware;
  CopyStudy study{.hardware = hardware,
                  .communicator = Communicator::kNixl,
                  .pairs = {{.from = 0, .to = 4}},
                  .bytes = kLayerBytes,
                  .copies = 25,
                  .copy_streams = 2,
                  .rank_count = 8};
  const double one_us = copies_us(study).value();
  study.pairs = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  const double four_us = copies_us(study).value();
  CHECK(four_us / one_us == doctest::Approx(2).epsilon(0.02));
}

}  // namespace
}  // namespace eplb::sim
