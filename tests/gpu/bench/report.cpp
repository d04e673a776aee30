#include "report.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace eplb::gpu::bench {

void Report::add(Row row) {
  if (rows_.empty()) {
    std::printf("%-24s %-44s %9s %9s %9s %9s\n", "kernel", "variant", "median us", "min us",
                "max us", "GB/s");
  }
  std::printf("%-24s %-44s %9.3f %9.3f %9.3f", row.name.c_str(), row.variant.c_str(),
              row.timing.median_us, row.timing.min_us, row.timing.max_us);
  if (row.moved_bytes > 0) {
    std::printf(" %9.1f", row.moved_bytes / row.timing.median_us / 1e3);
  }
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::add(KernelResources resources) {
  if (resources_.empty()) {
    std::printf("\n%-36s %9s %9s %12s %9s %9s %9s\n", "kernel", "threads", "registers",
                "shared bytes", "local", "blocks/SM", "occupancy");
  }
  std::printf("%-36s %9d %9d %12zu %9zu %9d %8.0f%%\n", resources.name.c_str(),
              resources.block.thread_count, resources.register_count,
              resources.static_shared_bytes + resources.block.dynamic_shared_bytes,
              resources.local_bytes, resources.blocks_per_multiprocessor,
              100 * resources.occupancy);
  resources_.push_back(std::move(resources));
}

void Report::write_json(const std::string& path, const std::string& device_name) const {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                             std::fclose);
  if (!file) {
    throw std::runtime_error("cannot write " + path);
  }
  std::FILE* out = file.get();
  // Names hold neither quotes nor backslashes.
  std::fprintf(out, "{\n  \"device\": \"%s\",\n  \"timings\": [", device_name.c_str());
  const char* comma = "";
  for (const Row& row : rows_) {
    std::fprintf(out,
                 "%s\n    {\"kernel\": \"%s\", \"variant\": \"%s\", \"median_us\": %.4f, "
                 "\"min_us\": %.4f, \"max_us\": %.4f, \"samples\": %d, \"moved_bytes\": %.0f}",
                 comma, row.name.c_str(), row.variant.c_str(), row.timing.median_us,
                 row.timing.min_us, row.timing.max_us, row.timing.sample_count, row.moved_bytes);
    comma = ",";
  }
  std::fprintf(out, "\n  ],\n  \"resources\": [");
  comma = "";
  for (const KernelResources& one : resources_) {
    std::fprintf(out,
                 "%s\n    {\"kernel\": \"%s\", \"threads\": %d, \"registers\": %d, "
                 "\"shared_bytes\": %zu, \"local_bytes\": %zu, \"blocks_per_multiprocessor\": %d, "
                 "\"occupancy\": %.3f}",
                 comma, one.name.c_str(), one.block.thread_count, one.register_count,
                 one.static_shared_bytes + one.block.dynamic_shared_bytes, one.local_bytes,
                 one.blocks_per_multiprocessor, one.occupancy);
    comma = ",";
  }
  std::fprintf(out, "\n  ]\n}\n");
}

}  // namespace eplb::gpu::bench
