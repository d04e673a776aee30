#include "eplb/config/group.hpp"

#include <algorithm>
#include <cstdint>

namespace eplb::config {
namespace {

/// 1 where the counts that it follows from were refused, so that nothing follows from them.
std::int32_t domain_count(const sim::HardwareOptions& hardware, const ParallelOptions& parallel) {
  if (hardware.gpus_per_node < 1) {
    return 1;
  }
  const std::int64_t in_domain = sim::ranks_per_domain(hardware, parallel);
  const std::int64_t domains = (parallel.ranks + in_domain - 1) / in_domain;
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, domains));
}

}  // namespace

EplbGroup group_of(const sim::Scenario& scenario) {
  return {.model = scenario.model,
          .draft_count = static_cast<std::int32_t>(scenario.drafts.size()),
          .parallel = scenario.parallel,
          .engine = scenario.engine,
          .domain_count = domain_count(scenario.hardware, scenario.parallel)};
}

}  // namespace eplb::config
