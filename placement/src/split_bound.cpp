#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/exact_split.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/placement/bounds.hpp"
#include "layer_load.hpp"

namespace eplb::placement {
namespace {

/// A layer's load is this many bits of units, so that sums of units stay below 2^62.
constexpr int kTotalBits = 61;

/// Ranks that hold any of an expert's slots, which are ascending.
std::int32_t holder_count(std::span<const std::int32_t> slots, std::int32_t slots_per_rank) {
  std::int32_t count = 0;
  std::int32_t last = -1;
  for (const std::int32_t slot : slots) {
    count += slot / slots_per_rank != last ? 1 : 0;
    last = slot / slots_per_rank;
  }
  return count;
}

}  // namespace

Result<double> layer_bound_split(const RealLoadRow& load, const LayerPlacement& placement) {
  Result<double> total = total_load(load, placement.expert_count());
  if (!total || *total == 0) {
    return total;
  }
  const std::span<const double> cells = cells_of(load);
  const int unit_exponent = kTotalBits - (std::ilogb(*total) + 1);
  std::vector<std::int64_t> units(cells.size());
  std::ranges::transform(cells, units.begin(), [&](double tokens) {
    return std::llround(std::ldexp(tokens, unit_exponent));
  });
  const LayerMap map = LayerMap::from(placement);
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(placement.slot_count()));
  ExactSplit split(
      {.rank_count = placement.rank_count(), .slots_per_rank = placement.slots_per_rank()});
  const auto largest = static_cast<double>(split.deal(units, map, dealt));
  double optimum = std::max(*total / placement.rank_count(), std::ldexp(largest, -unit_exponent));
  // What rounding must not bring it below.
  for (std::size_t expert = 0; expert < cells.size(); ++expert) {
    const auto slots = map.slots(LogicalExpertId{static_cast<std::int32_t>(expert)});
    optimum = std::max(optimum, cells[expert] / holder_count(slots, placement.slots_per_rank()));
  }
  return optimum;
}

Result<double> bound_split(const RealLoadMatrix& load, const Placement& placement) {
  return mean_over_layers(load, placement.shape().layer_count, [&](LayerId layer) {
    return layer_bound_split(load.row(layer.value), placement.layer(layer));
  });
}

}  // namespace eplb::placement
