#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/timing.hpp"

namespace eplb::gpu::bench {

/// One timed launch: what it was, what it took, and the fewest bytes that it must move.
struct Row {
  std::string name;
  std::string variant;  ///< Sizes, skew and the like.
  Timing timing;
  double moved_bytes = 0;
};

/// Prints rows as they come, and keeps them for the JSON file.
class Report {
 public:
  void add(Row row);
  void add(KernelResources resources);

  /// All rows and resources as one JSON object; throws std::runtime_error if it cannot be written.
  void write_json(const std::string& path, const std::string& device_name) const;

 private:
  std::vector<Row> rows_;
  std::vector<KernelResources> resources_;
};

// Each fills its part of the report.
void bench_mapping(Report& report);
void bench_map_launches(Report& report);  ///< The launches that default_map_launch chooses among.
void bench_step(Report& report);
void bench_map_update(Report& report);
void bench_staging(Report& report);
void bench_router(Report& report);

}  // namespace eplb::gpu::bench
