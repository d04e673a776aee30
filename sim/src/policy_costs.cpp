#include "eplb/sim/policy_costs.hpp"

#include <algorithm>

#include "eplb/sim/cluster/copy_study.hpp"
#include "eplb/sim/machine.hpp"
#include "forward_slowdown.hpp"

namespace eplb::sim {
namespace {

constexpr double kNsPerUs = 1e3;

/// Rows of the target that two ranks exchange, the first and the last of the group.
CopyStudy exchange_of(const Scenario& scenario, const Topology& topology, std::int64_t rows) {
  const std::int32_t last = topology.rank_count() - 1;
  return {.hardware = scenario.hardware,
          .communicator = resolved_communicator(scenario, topology),
          .nixl_path = scenario.engine.nixl_path,
          .pairs = {{.from = 0, .to = last}, {.from = last, .to = 0}},
          .bytes = rows * bytes_per_expert(scenario.model),
          .copies = rows * tensors_per_expert(scenario.model.weight_format),
          .copy_streams = scenario.eplb.copy_streams,
          .batched_copies = scenario.eplb.batched_copies,
          .rank_count = topology.rank_count()};
}

/// Time a byte, starts included: what more of the same take beside those that are on their way.
double held_ns_per_byte(const Scenario& scenario, const Topology& topology) {
  constexpr std::int64_t kRows = 8;
  const double few_us = copies_us(exchange_of(scenario, topology, kRows)).value();
  const double many_us = copies_us(exchange_of(scenario, topology, 2 * kRows)).value();
  return (many_us - few_us) * kNsPerUs /
         static_cast<double>(kRows * bytes_per_expert(scenario.model));
}

/// The time that a byte flows, starts apart, in which a forward goes slower.
double slowed_ns_per_byte(const Scenario& scenario, const Topology& topology) {
  constexpr std::int64_t kBytes = 1'000'000'000;
  CopyStudy bulk = exchange_of(scenario, topology, 1);
  const double slowdown = forward_slowdown(bulk).value();
  bulk.copies = 1;
  bulk.bytes = kBytes;
  const double few_us = copies_us(bulk).value();
  bulk.bytes = 2 * kBytes;
  return slowdown * (copies_us(bulk).value() - few_us) * kNsPerUs / static_cast<double>(kBytes);
}

}  // namespace

PolicyCosts policy_costs(const Scenario& scenario, const Topology& topology) {
  const HardwareOptions& hardware = scenario.hardware;
  auto widest_bytes = static_cast<double>(bytes_per_expert(scenario.model));
  for (const ModelOptions& draft : scenario.drafts) {
    widest_bytes = std::max(widest_bytes, static_cast<double>(bytes_per_expert(draft)));
  }
  PolicyCosts costs{.layer = expert_layer_cost(scenario.model, hardware, scenario.parallel),
                    .move_ns_per_expert = widest_bytes / hardware.peer_copy_bandwidth_gb_per_s};
  costs.migration = {
      .wire_ns_per_byte = scenario.eplb.use_async ? slowed_ns_per_byte(scenario, topology)
                                                  : held_ns_per_byte(scenario, topology),
      .commit_ns_per_byte = 2 / local_copy_gb_per_s(hardware),
      .commit_start_ns = (hardware.local_copy_start_us + hardware.map_publish_us) * kNsPerUs};
  return costs;
}

}  // namespace eplb::sim
