#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/layer_migration.hpp"

namespace eplb::test {

/// A transfer from plain numbers: expert, source slot, destination slot.
[[nodiscard]] inline Transfer transfer(std::int32_t expert, std::int32_t source,
                                       std::int32_t destination) {
  return {.expert = LogicalExpertId{expert},
          .source = SlotId{source},
          .destination = SlotId{destination}};
}

/// The migration of each layer that changes, ascending.
[[nodiscard]] inline std::vector<LayerMigration> migrations(const Placement& before,
                                                            const Placement& after) {
  std::vector<LayerMigration> layers;
  for (std::int32_t index = 0; index < before.shape().layer_count; ++index) {
    const LayerId layer{index};
    if (before.layer(layer) != after.layer(layer)) {
      layers.push_back(plan_layer_migration(layer, before.layer(layer), after.layer(layer)));
    }
  }
  return layers;
}

}  // namespace eplb::test
