#include "layerwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

namespace eplb::placement {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> check_window(const PolicyProblem& problem) {
  const auto parts = static_cast<std::ptrdiff_t>(problem.window_part_count);
  if (parts < 1 || parts > std::ssize(problem.history)) {
    return invalid("a window of " + std::to_string(parts) + " parts cannot be taken from " +
                   std::to_string(problem.history.size()) + " parts of history");
  }
  for (const RealLoadMatrix& part : problem.history.last(static_cast<std::size_t>(parts))) {
    if (part.rows() != problem.shape.layer_count || part.cols() != problem.shape.expert_count) {
      return invalid("a part of the history has " + std::to_string(part.rows()) + " layers x " +
                     std::to_string(part.cols()) + " experts, expected " +
                     std::to_string(problem.shape.layer_count) + " x " +
                     std::to_string(problem.shape.expert_count));
    }
  }
  return {};
}

}  // namespace

Result<void> check_problem(const PolicyProblem& problem) {
  if (auto valid = validate(problem.shape); !valid) {
    return valid;
  }
  if (problem.topology.rank_count() != problem.shape.rank_count) {
    return invalid("the topology has " + std::to_string(problem.topology.rank_count()) +
                   " ranks, the shape " + std::to_string(problem.shape.rank_count));
  }
  if (problem.current != nullptr &&
      (problem.current->shape().layer_count != problem.shape.layer_count ||
       problem.current->shape().expert_count != problem.shape.expert_count)) {
    return invalid("the current placement is of another model: layers or experts differ");
  }
  if (auto valid = check_window(problem); !valid) {
    return valid;
  }
  if (!std::isfinite(problem.window_steps) || problem.window_steps < 0) {
    return invalid("the steps of a window must be finite and not negative");
  }
  const RealLoadMatrix load = window_load(problem);
  const std::span<const double> cells(load.data(), static_cast<std::size_t>(load.size()));
  if (!std::ranges::all_of(cells, [](double cell) { return std::isfinite(cell) && cell >= 0; })) {
    return invalid("a window's load must be finite and not negative");
  }
  return {};
}

Result<Placement> place_layerwise(const PolicyProblem& problem, const LayerPlacer& place_layer) {
  if (auto checked = check_problem(problem); !checked) {
    return tl::unexpected(checked.error());
  }
  const RealLoadMatrix load = window_load(problem);
  const std::span<const double> cells(load.data(), static_cast<std::size_t>(load.size()));
  std::vector<LayerPlacement> layers;
  layers.reserve(static_cast<std::size_t>(problem.shape.layer_count));
  const auto expert_count = static_cast<std::size_t>(problem.shape.expert_count);
  for (std::int32_t layer = 0; layer < problem.shape.layer_count; ++layer) {
    const auto row = cells.subspan(static_cast<std::size_t>(layer) * expert_count, expert_count);
    auto placed = LayerPlacement::create(problem.shape, place_layer(LayerId{layer}, row));
    if (!placed) {
      return tl::unexpected(placed.error());
    }
    layers.push_back(*std::move(placed));
  }
  return Placement::create(problem.shape, std::move(layers));
}

}  // namespace eplb::placement
