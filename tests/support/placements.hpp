#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "eplb/core/placement.hpp"

namespace eplb::test {

/// A layer's placement from the experts of its slots; -1 is an empty slot. Throws if it is invalid,
/// which fails the test.
[[nodiscard]] inline LayerPlacement layer_placement(const Shape& shape,
                                                    const std::vector<std::int32_t>& experts) {
  std::vector<LogicalExpertId> occupants;
  occupants.reserve(experts.size());
  for (const std::int32_t expert : experts) {
    occupants.push_back(LogicalExpertId{expert});
  }
  return LayerPlacement::create(shape, std::move(occupants)).value();
}

/// A placement from the experts of each layer's slots.
[[nodiscard]] inline Placement placement(
    const Shape& shape, std::initializer_list<std::vector<std::int32_t>> experts_by_layer) {
  std::vector<LayerPlacement> layers;
  layers.reserve(experts_by_layer.size());
  for (const std::vector<std::int32_t>& experts : experts_by_layer) {
    layers.push_back(layer_placement(shape, experts));
  }
  return Placement::create(shape, std::move(layers)).value();
}

}  // namespace eplb::test
