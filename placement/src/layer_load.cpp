#include "layer_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace eplb::placement {

Result<double> total_load(const RealLoadRow& load, std::int32_t expert_count) {
  if (load.size() != expert_count) {
    return fail(ErrorCode::kInvalidArgument, "a layer's load has " + std::to_string(load.size()) +
                                                 " experts, expected " +
                                                 std::to_string(expert_count));
  }
  const std::span<const double> cells = cells_of(load);
  const double total = std::accumulate(cells.begin(), cells.end(), 0.0);
  if (!std::isfinite(total) || std::ranges::any_of(cells, [](double cell) { return cell < 0; })) {
    return fail(ErrorCode::kInvalidArgument,
                "a layer's load and its sum must be finite and not negative");
  }
  return total;
}

Result<double> mean_over_layers(const RealLoadMatrix& load, std::int32_t layer_count,
                                const std::function<Result<double>(LayerId layer)>& figure) {
  if (load.rows() != layer_count) {
    return fail(ErrorCode::kInvalidArgument, "a load has " + std::to_string(load.rows()) +
                                                 " layers, expected " +
                                                 std::to_string(layer_count));
  }
  double sum = 0;
  for (std::int32_t layer = 0; layer < layer_count; ++layer) {
    Result<double> value = figure(LayerId{layer});
    if (!value) {
      return value;
    }
    sum += *value;
  }
  return layer_count == 0 ? 0 : sum / layer_count;
}

}  // namespace eplb::placement
