// Times the kernels beside an empty one and beside the published design, in one harness and one
// run: graphs of 100 launches behind a gate, medians over 31 samples.
//
// eplb_gpu_bench [--json FILE] [--sweep]
// Ends with 0, 1 (the device failed), 2 (usage) or 77 (no device).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/map_update.hpp"
#include "eplb/gpu/router.hpp"
#include "eplb/gpu/staging.hpp"
#include "eplb/gpu/step.hpp"
#include "open_device.hpp"
#include "report.hpp"

namespace eplb::gpu::bench {
namespace {

constexpr int kUsage = 2;

struct Options {
  std::string json_path;
  bool is_sweep = false;
  bool is_valid = true;
};

Options parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string_view key = arguments[index];
    if (key == "--json" && index + 1 < arguments.size()) {
      options.json_path = arguments[++index];
    } else if (key == "--sweep") {
      options.is_sweep = true;
    } else {
      options.is_valid = false;
    }
  }
  return options;
}

int run(const Options& options) {
  const std::optional<cudaDeviceProp> device = test::open_device();
  if (!device) {
    return test::kSkipped;
  }
  std::printf("\n");

  Report report;
  report.add({.name = "nothing", .variant = "", .timing = time_launches(launch_nothing)});
  bench_mapping(report);
  bench_step(report);
  bench_map_update(report);
  bench_staging(report);
  bench_router(report);
  if (options.is_sweep) {
    bench_map_launches(report);
  }
  for (const KernelResources& resources : map_and_record_resources(256, 288)) {
    report.add(resources);
  }
  for (const KernelResources& resources : staging_resources()) {
    report.add(resources);
  }
  for (const KernelResources& resources : router_resources()) {
    report.add(resources);
  }
  report.add(finish_pass_resources());
  report.add(unpack_maps_resources());
  if (!options.json_path.empty()) {
    report.write_json(options.json_path, device->name);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace eplb::gpu::bench

int main(int argc, char** argv) {
  namespace bench = eplb::gpu::bench;
  const auto options = bench::parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options.is_valid) {
    std::fprintf(stderr, "usage: eplb_gpu_bench [--json FILE] [--sweep]\n");
    return bench::kUsage;
  }
  try {
    return bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
