#pragma once

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"

namespace eplb::test {

/// Draws small shapes, placements and loads; the same seed gives the same sequence everywhere.
class RandomWorlds {
 public:
  explicit RandomWorlds(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [least, most].
  [[nodiscard]] std::int32_t between(std::int32_t least, std::int32_t most) {
    return boost::random::uniform_int_distribution<std::int32_t>(least, most)(engine_);
  }

  /// At most 4 layers, 12 ranks and 8 slots a rank; any legal number of experts.
  [[nodiscard]] Shape shape() {
    const std::int32_t ranks = between(1, 12);
    const std::int32_t slots = ranks * between(1, 8);
    const std::int32_t experts = between(1, slots);
    return {.layer_count = between(0, 4),
            .expert_count = experts,
            .redundant_slot_count = slots - experts,
            .rank_count = ranks,
            .expert_group_count = 1};
  }

  /// Every expert somewhere; a redundant slot is empty with a chance of 1 in 8 if `some_empty`.
  [[nodiscard]] LayerPlacement layer_placement(const Shape& shape, bool some_empty) {
    std::vector<LogicalExpertId> occupants;
    for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
      const bool redundant = slot >= shape.expert_count;
      const std::int32_t expert = redundant ? between(0, shape.expert_count - 1) : slot;
      const bool empty = redundant && some_empty && between(0, 7) == 0;
      occupants.push_back(empty ? kNoExpert : LogicalExpertId{expert});
    }
    for (std::int32_t last = shape.slot_count() - 1; last > 0; --last) {
      std::swap(occupants[static_cast<std::size_t>(last)],
                occupants[static_cast<std::size_t>(between(0, last))]);
    }
    return LayerPlacement::create(shape, std::move(occupants)).value();
  }

  [[nodiscard]] Placement placement(const Shape& shape, bool some_empty) {
    std::vector<LayerPlacement> layers;
    layers.reserve(static_cast<std::size_t>(shape.layer_count));
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      layers.push_back(layer_placement(shape, some_empty));
    }
    return Placement::create(shape, std::move(layers)).value();
  }

  /// Counts in [0, most], [layers, experts].
  [[nodiscard]] LoadMatrix counts(std::int32_t layers, std::int32_t experts, std::int32_t most) {
    LoadMatrix counts(layers, experts);
    std::generate_n(counts.data(), counts.size(), [&] { return between(0, most); });
    return counts;
  }

 private:
  boost::random::mt19937_64 engine_;
};

}  // namespace eplb::test
