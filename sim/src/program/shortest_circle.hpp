#pragma once

#include <cstdint>
#include <vector>

namespace eplb::sim {

/// A shortest circle of a directed graph given by each node's successors, which starts at its
/// lowest node; the first found of equals, empty if there is none.
[[nodiscard]] std::vector<std::int32_t> shortest_circle(
    const std::vector<std::vector<std::int32_t>>& successors);

/// A shortest path from `from` to `to`, both included, along at least one edge; empty if there is
/// none.
[[nodiscard]] std::vector<std::int32_t> shortest_path(
    const std::vector<std::vector<std::int32_t>>& successors, std::int32_t from, std::int32_t to);

/// The strongly connected component of each node.
[[nodiscard]] std::vector<std::int32_t> components_of(
    const std::vector<std::vector<std::int32_t>>& successors);

}  // namespace eplb::sim
