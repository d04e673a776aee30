#include "eplb/placement/bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layer_load.hpp"
#include "replication.hpp"

namespace eplb::placement {

Result<LayerBound> layer_bound(const RealLoadRow& load, const Shape& shape) {
  if (auto valid = validate(shape); !valid) {
    return tl::unexpected(valid.error());
  }
  const Result<double> total = total_load(load, shape.expert_count);
  if (!total) {
    return tl::unexpected(total.error());
  }
  const std::span<const double> cells = cells_of(load);
  const std::vector<std::int32_t> expert_of_copy =
      give_copies(cells, static_cast<std::size_t>(shape.slot_count()));
  const std::vector<double> replicas = load_of_copies(cells, std::span(expert_of_copy));
  return LayerBound{.mean_rank_load = *total / shape.rank_count,
                    .least_largest_replica = *std::ranges::max_element(replicas)};
}

Result<double> bound(const RealLoadMatrix& load, const Shape& shape) {
  return mean_over_layers(load, shape.layer_count, [&](LayerId layer) {
    return layer_bound(load.row(layer.value), shape).map(&LayerBound::value);
  });
}

}  // namespace eplb::placement
