#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/policy.hpp"
#include "packing.hpp"
#include "replication.hpp"

namespace eplb::placement {

/// How DeepSeek's steps divide one layer. All divisions below are exact for a valid shape.
struct Hierarchy {
  std::int32_t expert_count;
  std::int32_t slot_count;
  std::int32_t rank_count;
  std::int32_t group_count;
  std::int32_t node_count;

  /// Groups stay whole on a node where the nodes divide them; else one group on one node, which is
  /// the global policy (eplb-semantics 4.2).
  [[nodiscard]] static Hierarchy of(const PolicyProblem& problem) {
    const Shape& shape = problem.shape;
    const std::int32_t nodes = problem.topology.packing_node_count();
    const bool hierarchical = shape.expert_group_count % nodes == 0;
    return {.expert_count = shape.expert_count,
            .slot_count = shape.slot_count(),
            .rank_count = shape.rank_count,
            .group_count = hierarchical ? shape.expert_group_count : 1,
            .node_count = hierarchical ? nodes : 1};
  }
};

/// The published steps cast every load to float32 before anything else. A load beyond its range
/// counts as its largest number, since a conversion that overflows has no defined result.
template <typename Real>
[[nodiscard]] std::vector<Real> as_float32(std::span<const double> load) {
  std::vector<Real> cast(load.size());
  std::ranges::transform(load, cast.begin(), [](double value) {
    return static_cast<Real>(
        static_cast<float>(std::min(value, double{std::numeric_limits<float>::max()})));
  });
  return cast;
}

/// One node's experts, given copies and packed onto its ranks; appends the occupants of its slots.
template <typename Real>
void append_node(std::span<const Real> load, std::span<const std::int32_t> experts,
                 const Hierarchy& hierarchy, std::vector<LogicalExpertId>& occupants) {
  std::vector<Real> node_load(experts.size());
  std::ranges::transform(experts, node_load.begin(), [&](std::int32_t expert) {
    return load[static_cast<std::size_t>(expert)];
  });
  const auto slots = static_cast<std::size_t>(hierarchy.slot_count / hierarchy.node_count);
  const std::span<const Real> loads = node_load;
  const std::vector<std::int32_t> item_of_copy = give_copies(loads, slots);
  const std::vector<Real> load_of_copy = load_of_copies(loads, std::span(item_of_copy));
  for (const std::int32_t copy : pack_balanced(std::span<const Real>(load_of_copy),
                                               hierarchy.rank_count / hierarchy.node_count)) {
    const auto item = static_cast<std::size_t>(item_of_copy[static_cast<std::size_t>(copy)]);
    occupants.push_back(LogicalExpertId{experts[item]});
  }
}

/// Occupants of one layer's slots by DeepSeek's steps (eplb-semantics 4.2): whole groups onto
/// nodes, then in each node copies to experts and copies onto ranks. Sums are in Real, in order of
/// id.
template <typename Real>
[[nodiscard]] std::vector<LogicalExpertId> place_hierarchically(std::span<const Real> load,
                                                                const Hierarchy& hierarchy) {
  const auto group_size = static_cast<std::size_t>(hierarchy.expert_count / hierarchy.group_count);
  std::vector<Real> group_load;
  for (std::size_t first = 0; first < load.size(); first += group_size) {
    const std::span<const Real> group = load.subspan(first, group_size);
    group_load.push_back(std::accumulate(group.begin(), group.end(), Real{0}));
  }
  std::vector<std::int32_t> experts;  // Node-major, each node's groups in the order of packing.
  experts.reserve(load.size());
  for (const std::int32_t group :
       pack_balanced(std::span<const Real>(group_load), hierarchy.node_count)) {
    const std::size_t first = static_cast<std::size_t>(group) * group_size;
    for (std::size_t expert = first; expert < first + group_size; ++expert) {
      experts.push_back(static_cast<std::int32_t>(expert));
    }
  }
  std::vector<LogicalExpertId> occupants;
  occupants.reserve(static_cast<std::size_t>(hierarchy.slot_count));
  const std::size_t node_size = experts.size() / static_cast<std::size_t>(hierarchy.node_count);
  for (std::size_t first = 0; first < experts.size(); first += node_size) {
    append_node(load, std::span<const std::int32_t>(experts).subspan(first, node_size), hierarchy,
                occupants);
  }
  return occupants;
}

}  // namespace eplb::placement
