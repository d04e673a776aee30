#include "eplb/core/layer_map.hpp"

#include "eplb/core/assert.hpp"

namespace eplb {

LayerMap LayerMap::from(const LayerPlacement& placement) {
  const std::int32_t redundant = placement.slot_count() - placement.expert_count();
  LayerMap map;
  map.expert_count_ = placement.expert_count();
  map.block_width_ = static_cast<std::size_t>(redundant) + 2;
  map.blocks_.assign(static_cast<std::size_t>(map.expert_count_) * map.block_width_, -1);
  for (std::size_t expert = 0; expert < static_cast<std::size_t>(map.expert_count_); ++expert) {
    map.blocks_[expert * map.block_width_] = 0;
  }
  for (std::int32_t slot = 0; slot < placement.slot_count(); ++slot) {
    const LogicalExpertId expert = placement.occupant(SlotId{slot});
    if (expert == kNoExpert) {
      continue;
    }
    std::int32_t* block = &map.blocks_[expert.index() * map.block_width_];
    EPLB_ASSERT_OP(block[0], <=, redundant);
    block[1 + block[0]] = slot;
    ++block[0];
  }
  return map;
}

}  // namespace eplb
