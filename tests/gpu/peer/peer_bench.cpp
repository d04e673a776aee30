// What each transport moves of one layer of 25 experts (470 MB) between two devices, one way and
// both ways at once, against one bulk copy of the same bytes in the same run, by the host's time
// from the start to the poll that finds all done; and how much a push slows a kernel that only
// moves memory.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench_kernel.hpp"
#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/transport/copy_engine_transport.hpp"
#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "eplb/gpu/transport/nccl_transport.hpp"
#include "eplb/gpu/transport/timeline.hpp"
#include "peer_cases.hpp"
#include "rank_fixture.hpp"

namespace eplb::gpu::test {
namespace {

enum class Ways : std::uint8_t { kOne, kBoth };

const char* name_of(Ways ways) {
  return ways == Ways::kOne ? "one way" : "both ways";
}

struct Row {
  std::string transport;
  std::string variant;
  Ways ways = Ways::kOne;
  double gb_per_s = 0;  ///< Each way; the median sample of the slower rank.
  double of_bulk = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double largest_of_ranks(const PeerGroup& group, double mine) {
  std::array<std::byte, sizeof(double)> bytes{};
  std::memcpy(bytes.data(), &mine, sizeof(double));
  double largest = mine;
  for (const std::vector<std::byte>& other : group.all_gather(bytes)) {
    double value = 0;
    if (other.size() != sizeof(double)) {
      throw std::runtime_error("a rank was not heard");
    }
    std::memcpy(&value, other.data(), sizeof(double));
    largest = std::max(largest, value);
  }
  return largest;
}

/// A bulk copy that looks like a transport: as fast as bytes can go.
class BulkCopy {
 public:
  BulkCopy(std::byte* to, const std::byte* from, std::size_t bytes)
      : to_(to), from_(from), bytes_(bytes), timeline_({stream_.get()}) {}

  Result<env::Ticket> start(std::span<const RowCopy> copies) {
    if (copies.empty()) {
      return env::Ticket{};
    }
    EPLB_CUDA(cudaMemcpyAsync(to_, from_, bytes_, cudaMemcpyDefault, stream_.get()));
    const env::Ticket ticket = timeline_.next();
    timeline_.mark(ticket);
    return ticket;
  }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const { return timeline_.poll(ticket); }

  void check() { timeline_.check(); }

 private:
  std::byte* to_;
  const std::byte* from_;
  std::size_t bytes_;
  Stream stream_;
  Timeline timeline_;
};

class Bench {
 public:
  Bench(Checks& checks, const PeerGroup& group, const RankFixture& rank, BenchOptions options)
      : checks_(checks), group_(group), rank_(rank), options_(std::move(options)) {}

  /// Copies that this rank has a part in; all it is handed if it is the bulk copy's.
  [[nodiscard]] std::vector<RowCopy> copies(Ways ways) const {
    std::vector<RowCopy> copies;
    for (std::int32_t slot = 0; slot < kLayerExperts; ++slot) {
      for (std::int32_t rank = 0; rank < (ways == Ways::kOne ? 1 : 2); ++rank) {
        copies.push_back(
            {slot_of(LayerId{0}, RankId{rank}, slot), landing_of(RankId{1 - rank}, slot)});
      }
    }
    return copies;
  }

  template <typename Transport>
  void measure(Transport& transport, const std::string& name, const std::string& variant) {
    for (const Ways ways : {Ways::kOne, Ways::kBoth}) {
      const bool takes_part = ways == Ways::kBoth || group_.rank.value == 0 || name != "bulk";
      const std::vector<RowCopy> moved = takes_part ? copies(ways) : std::vector<RowCopy>{};
      constexpr int kWarmups = 2;
      std::vector<double> samples_us;
      for (int sample = -kWarmups; sample < options_.sample_count; ++sample) {
        barrier(group_);
        const auto begin = std::chrono::steady_clock::now();
        const Result<env::Ticket> ticket = transport.start(moved);
        const bool done = ticket && wait_for(transport, *ticket) == env::Completion::kDone;
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        checks_.expect(done, name + " moves the layer");
        if (sample >= 0) {
          samples_us.push_back(largest_of_ranks(group_, took.count()));
        }
      }
      add(name, variant, ways, median(samples_us));
    }
    barrier(group_);
  }

  /// How much longer the kernel takes while `push` is kept going, in percent.
  void measure_slowdown(CopyEngineTransport& transport, const std::string& variant);

  void write_json() const {
    std::ofstream file(options_.json_path);
    file << R"({"layer_bytes": )" << layer_bytes() << R"(, "rows": [)";
    for (std::size_t index = 0; index < rows_.size(); ++index) {
      const Row& row = rows_[index];
      file << (index == 0 ? "\n" : ",\n") << R"(  {"transport": ")" << row.transport
           << R"(", "variant": ")" << row.variant << R"(", "ways": ")" << name_of(row.ways)
           << R"(", "gb_per_s": )" << row.gb_per_s << R"(, "of_bulk": )" << row.of_bulk << "}";
    }
    file << "],\n"
         << R"("slowdown_percent": {)" << slowdowns_ << "}}\n";
    checks_.expect(file.good(), "the JSON file is written");
  }

 private:
  [[nodiscard]] std::int64_t layer_bytes() const {
    return rank_.layout().row_bytes[0] * kLayerExperts;
  }

  void add(const std::string& name, const std::string& variant, Ways ways, double took_us) {
    const double gb_per_s = static_cast<double>(layer_bytes()) / took_us / 1000.0;
    double& bulk = bulk_gb_per_s_[static_cast<std::size_t>(ways)];
    if (name == "bulk") {
      bulk = gb_per_s;
    }
    rows_.push_back({.transport = name,
                     .variant = variant,
                     .ways = ways,
                     .gb_per_s = gb_per_s,
                     .of_bulk = gb_per_s / bulk});
    if (group_.rank.value == 0) {
      std::printf("%-14s %-28s %-9s %8.1f GB/s each way, %5.3f of bulk\n", name.c_str(),
                  variant.c_str(), name_of(ways), gb_per_s, gb_per_s / bulk);
      std::fflush(stdout);
    }
  }

  Checks& checks_;
  const PeerGroup& group_;
  const RankFixture& rank_;
  BenchOptions options_;
  std::array<double, 2> bulk_gb_per_s_{};
  std::vector<Row> rows_;
  std::string slowdowns_;
};

void Bench::measure_slowdown(CopyEngineTransport& transport, const std::string& variant) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  constexpr int kLaunches = 20;
  const DeviceBuffer<std::byte> from(kBytes);
  const DeviceBuffer<std::byte> to(kBytes);
  const Stream stream;
  const Event begin(Event::Timing::kOn);
  const Event end(Event::Timing::kOn);
  from.fill_bytes(1, stream.get());
  // Rank 0's kernel is the one looked at; the pushes go on until it has ended on every rank.
  const auto time_kernel = [&](bool pushes) {
    barrier(group_);
    begin.record(stream.get());
    for (int launch = 0; launch < kLaunches; ++launch) {
      copy_memory(to.data(), from.data(), kBytes, stream.get());
    }
    end.record(stream.get());
    while (pushes && !end.is_past()) {
      const Result<env::Ticket> ticket = transport.start(copies(Ways::kBoth));
      checks_.expect(ticket && wait_for(transport, *ticket) == env::Completion::kDone,
                     "pushes beside a kernel");
    }
    stream.synchronize();
    barrier(group_);
    return elapsed_us(begin, end);
  };
  const auto time_with = [&](Ways ways) {
    const bool takes_part = ways == Ways::kBoth || group_.rank.value == 0;
    return time_kernel(takes_part);
  };
  static_cast<void>(time_kernel(false));
  std::vector<double> alone_us;
  std::array<std::vector<double>, 2> beside_us;
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    alone_us.push_back(time_kernel(false));
    for (const Ways ways : {Ways::kOne, Ways::kBoth}) {
      beside_us[static_cast<std::size_t>(ways)].push_back(time_with(ways));
    }
  }
  for (const Ways ways : {Ways::kOne, Ways::kBoth}) {
    const double percent =
        (median(beside_us[static_cast<std::size_t>(ways)]) / median(alone_us) - 1) * 100;
    slowdowns_ += (slowdowns_.empty() ? "\"" : ", \"") + variant + ", " + name_of(ways) +
                  "\": " + std::to_string(percent);
    if (group_.rank.value == 0) {
      std::printf("a memory-bound kernel beside a push, %-22s %-9s slowed by %5.1f %%\n",
                  variant.c_str(), name_of(ways), percent);
      std::fflush(stdout);
    }
  }
}

FixtureOptions measured_layer(Ownership ownership) {
  return {.slot_count = kLayerExperts,
          .landing_rows = kLayerExperts,
          .tensor_bytes = {measured_expert()},
          .ownership = ownership,
          .misalignment_bytes = 0};
}

}  // namespace

void run_bench(Checks& checks, const RankSetting& setting, const BenchOptions& options) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread, and must use no multicast.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  PeerGroup group = setting.group;
  group.device = group.rank.value;
  EPLB_CUDA(cudaSetDevice(group.device));
  Result<std::unique_ptr<VmmHeap>> heap = VmmHeap::create(group, HandleKind::kPosixFile);
  if (!heap) {
    throw std::runtime_error(heap.error().message);
  }
  const HostClock clock;
  RankFixture rank(**heap, group, measured_layer(Ownership::kEngine));
  rank.prepare();
  Bench bench(checks, group, rank, options);

  const LandingPools& pools = rank.memory().rows().landing();
  const auto pool_bytes = static_cast<std::size_t>(pools.row_stride_bytes * pools.row_count);
  {
    const DeviceBuffer<std::byte> source(pool_bytes);
    BulkCopy bulk(pools.bases[static_cast<std::size_t>(1 - group.rank.value)], source.data(),
                  pool_bytes);
    bench.measure(bulk, "bulk", "one copy of 470 MB");
  }
  for (const std::int32_t streams : {1, 2}) {
    for (const std::int32_t pieces : {4, 8, 16, 32, 100}) {
      CopyEngineTransport transport(
          rank.memory(), clock,
          {.device = group.device, .pieces_per_batch = pieces, .stream_count = streams});
      bench.measure(transport, "copy_engine",
                    std::to_string(streams) + " streams, batches of " + std::to_string(pieces));
    }
  }
  CopyEngineTransport pushes(rank.memory(), clock, {.device = group.device});
  bench.measure_slowdown(pushes, "no limit");
  CopyEngineTransport limited(rank.memory(), clock,
                              {.device = group.device, .rate_limit_gb_per_s = 100});
  bench.measure(limited, "copy_engine", "limited to 100 GB/s");
  bench.measure_slowdown(limited, "limited to 100 GB/s");
  {
    const Result<std::unique_ptr<HostStagedTransport>> staged =
        HostStagedTransport::create(rank.memory(), group.rank, setting.shared,
                                    {.device = group.device, .rank_count = group.rank_count});
    if (staged) {
      bench.measure(**staged, "host_staged", "chunks of 1 MiB");
    }
  }
  {
    const Result<std::unique_ptr<NcclTransport>> nccl =
        NcclTransport::create(rank.memory(), group, {});
    if (nccl) {
      bench.measure(**nccl, "nccl", "at most 8 CTAs");
    } else if (group.rank.value == 0) {
      std::printf("nccl: %s\n", nccl.error().message.c_str());
    }
  }
  if (group.rank.value == 0 && !options.json_path.empty()) {
    bench.write_json();
  }
  barrier(group);
}

}  // namespace eplb::gpu::test
