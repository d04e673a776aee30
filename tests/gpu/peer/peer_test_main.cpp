// Goal: what moves weights between ranks moves every byte to its place and no other, and tells
// truly when. Method: each group of cases runs in processes of its own, as ranks that fill their
// weights with content that says whose it is, poison where it goes, and compare every byte there.
//
// eplb_gpu_peer_test [--group NAME] [--host-only] [--bench] [--json FILE] [--samples N]
// Ends with 0 (all right), 1 (a difference, a fault, or out of time), 2 (usage) or 77 (the groups
// of the host passed, and there is no device for the others).
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "device_count.hpp"
#include "peer_cases.hpp"

namespace eplb::gpu::test {
namespace {

constexpr int kSkipped = 77;
constexpr int kUsage = 2;
constexpr unsigned kProgramLimitS = 560;

enum class Ranks : std::uint8_t { kThreads, kProcesses };

struct Group {
  std::string_view name;
  void (*run)(Checks&, const RankSetting&);
  std::int32_t rank_count;
  Ranks ranks;
  int device_count;  ///< That it needs.
  int limit_s;
};

constexpr std::array kGroups{
    Group{"pieces", test_pieces, 1, Ranks::kThreads, 0, 20},
    Group{"mailbox", test_mailbox, 1, Ranks::kThreads, 0, 20},
    Group{"orders", test_orders, 1, Ranks::kThreads, 0, 20},
    Group{"exchange", test_exchange, 2, Ranks::kProcesses, 0, 20},
    Group{"handover", test_handover, 3, Ranks::kProcesses, 0, 60},
    Group{"fault_drill", test_fault_drill, 1, Ranks::kProcesses, 0, 20},
    Group{"content", test_content, 1, Ranks::kThreads, 1, 60},
    Group{"timeline", test_timeline, 1, Ranks::kThreads, 1, 60},
    Group{"queues", test_queues, 1, Ranks::kThreads, 1, 60},
    Group{"capture", test_capture, 1, Ranks::kThreads, 1, 60},
    Group{"memory", test_memory, 2, Ranks::kThreads, 1, 60},
    Group{"rate_limit", test_rate_limit, 2, Ranks::kThreads, 1, 60},
    Group{"vmm_threads", test_vmm_threads, 4, Ranks::kThreads, 1, 180},
    Group{"vmm_files", test_vmm_files, 2, Ranks::kProcesses, 1, 90},
    Group{"vmm_fabric", test_vmm_fabric, 2, Ranks::kProcesses, 1, 90},
    Group{"host_staged", test_host_staged, 2, Ranks::kProcesses, 1, 90},
    Group{"nccl_window", test_nccl_window, 1, Ranks::kProcesses, 1, 60},
    Group{"nccl", test_nccl, 2, Ranks::kProcesses, 1, 150},
};

struct Options {
  std::string_view group;
  bool host_only = false;
  bool benches = false;
  BenchOptions bench;
  bool is_valid = true;
};

Options parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string_view key = arguments[index];
    if (key == "--bench") {
      options.benches = true;
      continue;
    }
    if (key == "--host-only") {
      options.host_only = true;
      continue;
    }
    ++index;
    const std::string_view value = index < arguments.size() ? arguments[index] : "";
    if (key == "--group") {
      options.group = value;
    } else if (key == "--json") {
      options.bench.json_path = value;
    } else if (key == "--samples") {
      const auto parsed =
          std::from_chars(value.data(), value.data() + value.size(), options.bench.sample_count);
      options.is_valid &= parsed.ec == std::errc{} && options.bench.sample_count > 0;
    } else {
      options.is_valid = false;
    }
    options.is_valid &= !value.empty();
  }
  return options;
}

bool run(const Group& group) {
  const WorldOptions world{.rank_count = group.rank_count,
                           .shared_bytes = staging_bytes(group.rank_count),
                           .limit_s = group.limit_s};
  const WorldOutcome outcome = group.ranks == Ranks::kThreads ? run_as_threads(world, group.run)
                                                              : run_as_processes(world, group.run);
  const bool passed = outcome.failure_count == 0 && outcome.check_count > 0;
  std::printf("%-12s %s: %lld checks, %lld failed\n", std::string(group.name).c_str(),
              passed ? "passed" : "FAILED", static_cast<long long>(outcome.check_count),
              static_cast<long long>(outcome.failure_count));
  std::fflush(stdout);
  return passed;
}

int bench(const Options& options, int device_count) {
  if (device_count < 2) {
    std::printf("skipped: the bench needs 2 devices, there are %d\n", device_count);
    return kSkipped;
  }
  constexpr int kLimitS = 400;
  const WorldOutcome outcome =
      run_as_processes({.rank_count = 2, .shared_bytes = staging_bytes(2), .limit_s = kLimitS},
                       [&](Checks& checks, const RankSetting& setting) {
                         run_bench(checks, setting, options.bench);
                       });
  return outcome.failure_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_all(const Options& options) {
  alarm(kProgramLimitS);
  const int device_count = options.host_only ? 0 : count_devices();
  std::printf("%d devices\n", device_count);
  if (options.benches) {
    return bench(options, device_count);
  }
  bool passed = true;
  int run_count = 0;
  int skipped_count = 0;
  for (const Group& group : kGroups) {
    if (!options.group.empty() && options.group != group.name) {
      continue;
    }
    if (group.device_count > device_count) {
      ++skipped_count;
      continue;
    }
    passed &= run(group);
    ++run_count;
  }
  if (run_count + skipped_count == 0) {
    std::fprintf(stderr, "no group %s\n", std::string(options.group).c_str());
    return kUsage;
  }
  std::printf("%s: %d groups, %d skipped\n", passed ? "PASSED" : "FAILED", run_count,
              skipped_count);
  if (!passed) {
    return EXIT_FAILURE;
  }
  return skipped_count > 0 && !options.host_only ? kSkipped : EXIT_SUCCESS;
}

}  // namespace
}  // namespace eplb::gpu::test

int main(int argc, char** argv) {
  const auto options =
      eplb::gpu::test::parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options.is_valid) {
    std::fprintf(stderr,
                 "usage: eplb_gpu_peer_test [--group NAME] [--host-only] [--bench] [--json FILE] "
                 "[--samples N]\n");
    return eplb::gpu::test::kUsage;
  }
  try {
    return eplb::gpu::test::run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
