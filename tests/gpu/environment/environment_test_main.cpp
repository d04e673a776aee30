// Goal: the environment of ranks on real devices, as their balancers need it. Method: each group of
// cases runs in a process of its own, its ranks as threads that share a device.
//
// eplb_gpu_environment_test [--group NAME] [--host-only]
// Ends with 0 (all right), 1 (a difference, a fault, or out of time), 2 (usage) or 77 (the groups
// of the host passed, and there is no device for the others).
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "environment_cases.hpp"
#include "peer/device_count.hpp"
#include "served_rank.hpp"

namespace eplb::gpu::test {
namespace {

constexpr int kSkipped = 77;
constexpr int kUsage = 2;
constexpr unsigned kProgramLimitS = 560;

struct Group {
  std::string_view name;
  void (*run)(Checks&, const RankSetting&);
  std::int32_t rank_count;
  bool needs_device;
  int limit_s;
};

constexpr std::array kGroups{
    Group{"refusals", test_refusals, 1, false, 20},
    Group{"watch", test_watch, 1, true, 60},
    Group{"load_recorder", test_load_recorder, 1, true, 60},
    Group{"map_publisher", test_map_publisher, 1, true, 60},
    Group{"rearrangements", test_rearrangements, ServedRank::kRanks, true, 120},
    Group{"held", test_held, ServedRank::kRanks, true, 90},
    Group{"host_staged", test_host_staged, ServedRank::kRanks, true, 90},
    Group{"sleep", test_sleep, ServedRank::kRanks, true, 90},
    Group{"capture", test_capture, ServedRank::kRanks, true, 120},
};

struct Options {
  std::string_view group;
  bool host_only = false;
  bool is_valid = true;
};

Options parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string_view key = arguments[index];
    if (key == "--host-only") {
      options.host_only = true;
    } else if (key == "--group" && index + 1 < arguments.size()) {
      options.group = arguments[++index];
    } else {
      options.is_valid = false;
    }
  }
  return options;
}

bool run(const Group& group) {
  const WorldOutcome outcome = run_as_threads(
      {.rank_count = group.rank_count, .shared_bytes = staging_bytes(), .limit_s = group.limit_s},
      group.run);
  const bool passed = outcome.failure_count == 0 && outcome.check_count > 0;
  std::printf("%-14s %s: %lld checks, %lld failed\n", std::string(group.name).c_str(),
              passed ? "passed" : "FAILED", static_cast<long long>(outcome.check_count),
              static_cast<long long>(outcome.failure_count));
  std::fflush(stdout);
  return passed;
}

int run_all(const Options& options) {
  alarm(kProgramLimitS);
  const bool on_device = !options.host_only && count_devices() > 0;
  bool passed = true;
  int run_count = 0;
  int skipped_count = 0;
  for (const Group& group : kGroups) {
    if (!options.group.empty() && options.group != group.name) {
      continue;
    }
    if (group.needs_device && !on_device) {
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
    std::fprintf(stderr, "usage: eplb_gpu_environment_test [--group NAME] [--host-only]\n");
    return eplb::gpu::test::kUsage;
  }
  try {
    return eplb::gpu::test::run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
