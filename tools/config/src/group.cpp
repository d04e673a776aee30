#include "eplb/config/group.hpp"

#include "eplb/sim/machine.hpp"

namespace eplb::config {
namespace {

/// 1 where the counts that it follows from were refused, so that nothing follows from them.
std::int32_t domain_count(const sim::Scenario& scenario) {
  if (scenario.hardware.gpus_per_node < 1) {
    return 1;
  }
  const auto topology = sim::topology_of(scenario.hardware, scenario.parallel);
  return topology.has_value() ? topology->domain_count() : 1;
}

}  // namespace

EplbGroup group_of(const sim::Scenario& scenario) {
  return {.model = scenario.model,
          .draft_count = static_cast<std::int32_t>(scenario.drafts.size()),
          .parallel = scenario.parallel,
          .engine = scenario.engine,
          .domain_count = domain_count(scenario)};
}

}  // namespace eplb::config
