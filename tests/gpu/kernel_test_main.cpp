// Goal: the kernels give what the references of the host give, bit for bit, and the ground floor
// keeps its promises. Method: each group of cases draws its inputs from a seed, poisons what the
// device must write and compares every value.
//
// eplb_gpu_kernel_test [--seed N] [--rows-max N] [--group NAME]
// Ends with 0 (all equal), 1 (a difference, or the device failed), 2 (usage) or 77 (no device).
#include <cuda_runtime_api.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "eplb/gpu/error.hpp"
#include "kernel_cases.hpp"
#include "open_device.hpp"

namespace eplb::gpu::test {
namespace {

constexpr int kUsage = 2;

struct Group {
  std::string_view name;
  void (*run)(Checks&, const Setting&);
};

constexpr std::array kGroups{
    Group{.name = "ground_floor", .run = test_ground_floor},
    Group{.name = "map_and_record", .run = test_map_and_record},
    Group{.name = "map_update", .run = test_map_update},
    Group{.name = "finish_pass", .run = test_finish_pass},
    Group{.name = "pass_recorder", .run = test_pass_recorder},
    Group{.name = "replay", .run = test_replay},
    Group{.name = "quantize", .run = test_quantize},
    Group{.name = "staging", .run = test_staging},
    Group{.name = "staging_replay", .run = test_staging_replay},
    Group{.name = "router_score", .run = test_router_score},
    Group{.name = "router", .run = test_router},
    Group{.name = "router_replay", .run = test_router_replay},
};

struct Options {
  Setting setting;
  std::string_view group;
  bool is_valid = true;
};

/// Whether the whole of the text is a number.
template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

Options parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t index = 0; index < arguments.size(); index += 2) {
    const std::string_view key = arguments[index];
    const std::string_view value = index + 1 < arguments.size() ? arguments[index + 1] : "";
    if (key == "--seed") {
      options.is_valid &= parse_number(value, options.setting.seed);
    } else if (key == "--rows-max") {
      options.is_valid &= parse_number(value, options.setting.row_count_max);
    } else if (key == "--group") {
      options.group = value;
    } else {
      options.is_valid = false;
    }
  }
  return options;
}

/// Whether the group passed.
bool run(const Group& group, const Setting& setting) {
  const auto seed = static_cast<unsigned long long>(setting.seed);
  Checks checks;
  std::string thrown;
  try {
    group.run(checks, setting);
    EPLB_CUDA(cudaDeviceSynchronize());
  } catch (const std::exception& error) {
    thrown = error.what();
  }
  const bool passed = checks.failure_count() == 0 && thrown.empty();
  std::printf("%-16s %s: %lld checks, %lld failed%s%s\n", std::string(group.name).c_str(),
              passed ? "passed" : "FAILED", static_cast<long long>(checks.check_count()),
              static_cast<long long>(checks.failure_count()), thrown.empty() ? "" : ", threw ",
              thrown.c_str());
  if (!passed) {
    std::printf("  EPLB_SEED=%llu, replay: eplb_gpu_kernel_test --seed %llu --group %s\n", seed,
                seed, std::string(group.name).c_str());
  }
  std::fflush(stdout);
  return passed;
}

int run_all(const Options& options) {
  if (!open_device()) {
    return kSkipped;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.setting.seed));
  bool passed = true;
  int run_count = 0;
  for (const Group& group : kGroups) {
    if (options.group.empty() || options.group == group.name) {
      passed &= run(group, options.setting);
      ++run_count;
    }
  }
  std::printf("%s: %d groups\n", passed && run_count > 0 ? "PASSED" : "FAILED", run_count);
  return passed && run_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace eplb::gpu::test

int main(int argc, char** argv) {
  const auto options =
      eplb::gpu::test::parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options.is_valid) {
    std::fprintf(stderr, "usage: eplb_gpu_kernel_test [--seed N] [--rows-max N] [--group NAME]\n");
    return eplb::gpu::test::kUsage;
  }
  try {
    return eplb::gpu::test::run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
