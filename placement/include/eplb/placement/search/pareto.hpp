#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace eplb::placement {

/// What a candidate costs by each objective; less is better.
using Costs = std::vector<double>;

/// Whether `left` is nowhere worse than `right`, and better somewhere. Both are of one length.
[[nodiscard]] bool dominates(const Costs& left, const Costs& right);

/// The layer of each candidate: 0 is the Pareto front, which nobody dominates; 1 the front of the
/// others, and so on (non-dominated sorting, Deb et al. 2002). Equal costs share a layer.
[[nodiscard]] std::vector<std::int32_t> pareto_layers(std::span<const Costs> candidates);

}  // namespace eplb::placement
