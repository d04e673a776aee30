#include "eplb/core/placement.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

bool has_shape(const LayerPlacement& layer, const Shape& shape) {
  return layer.slot_count() == shape.slot_count() &&
         layer.slots_per_rank() == shape.slots_per_rank() &&
         layer.expert_count() == shape.expert_count;
}

/// The last rank, of those visited so far in ascending order, that holds each expert; [experts].
using RankOfExpert = std::vector<RankId>;

constexpr RankId kNoRank{-1};

}  // namespace

Result<LayerPlacement> LayerPlacement::create(const Shape& shape,
                                              std::vector<LogicalExpertId> occupants) {
  if (auto valid = validate(shape); !valid) {
    return tl::unexpected(valid.error());
  }
  if (occupants.size() != static_cast<std::size_t>(shape.slot_count())) {
    return fail(ErrorCode::kInvalidArgument, "a layer's placement must have " +
                                                 std::to_string(shape.slot_count()) +
                                                 " slots, got " + std::to_string(occupants.size()));
  }
  std::vector<bool> placed(static_cast<std::size_t>(shape.expert_count), false);
  for (std::size_t slot = 0; slot < occupants.size(); ++slot) {
    const LogicalExpertId expert = occupants[slot];
    if (expert < kNoExpert || expert.value >= shape.expert_count) {
      return fail(ErrorCode::kInvalidArgument,
                  "slot " + std::to_string(slot) + " holds expert " + std::to_string(expert.value) +
                      ", allowed are -1 to " + std::to_string(shape.expert_count - 1));
    }
    if (expert != kNoExpert) {
      placed[expert.index()] = true;
    }
  }
  const auto missing = std::ranges::find(placed, false);
  if (missing != placed.end()) {
    return fail(ErrorCode::kInvalidArgument,
                "expert " + std::to_string(missing - placed.begin()) + " has no slot");
  }
  return LayerPlacement(shape, std::move(occupants));
}

LayerPlacement LayerPlacement::initial(const Shape& shape) {
  EPLB_ASSERT(validate(shape).has_value());
  std::vector<LogicalExpertId> occupants;
  occupants.reserve(static_cast<std::size_t>(shape.slot_count()));
  for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
    occupants.push_back(LogicalExpertId{slot % shape.expert_count});
  }
  return {shape, std::move(occupants)};
}

std::vector<std::int32_t> LayerPlacement::replica_counts() const {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(expert_count_), 0);
  for (const LogicalExpertId expert : occupants_) {
    if (expert != kNoExpert) {
      ++counts[expert.index()];
    }
  }
  return counts;
}

Result<Placement> Placement::create(const Shape& shape, std::vector<LayerPlacement> layers) {
  if (auto valid = validate(shape); !valid) {
    return tl::unexpected(valid.error());
  }
  if (layers.size() != static_cast<std::size_t>(shape.layer_count)) {
    return fail(ErrorCode::kInvalidArgument, "a placement must have " +
                                                 std::to_string(shape.layer_count) +
                                                 " layers, got " + std::to_string(layers.size()));
  }
  for (const LayerPlacement& layer : layers) {
    if (!has_shape(layer, shape)) {
      return fail(ErrorCode::kInvalidArgument, "a layer's placement has another shape");
    }
  }
  return Placement(shape, std::move(layers));
}

Placement Placement::initial(const Shape& shape) {
  return {shape, std::vector<LayerPlacement>(static_cast<std::size_t>(shape.layer_count),
                                             LayerPlacement::initial(shape))};
}

Placement Placement::with_layer(LayerId layer, LayerPlacement replacement) && {
  EPLB_ASSERT_OP(layer.index(), <, layers_.size());
  EPLB_ASSERT(has_shape(replacement, shape_));
  layers_[layer.index()] = std::move(replacement);
  return std::move(*this);
}

std::int64_t duplicate_count(const Placement& placement) {
  std::int64_t duplicates = 0;
  for (const LayerPlacement& layer : placement.layers()) {
    RankOfExpert last_holder(static_cast<std::size_t>(layer.expert_count()), kNoRank);
    for (std::int32_t rank = 0; rank < layer.rank_count(); ++rank) {
      for (const LogicalExpertId expert : layer.on_rank(RankId{rank})) {
        if (expert != kNoExpert) {
          duplicates += last_holder[expert.index()] == RankId{rank} ? 1 : 0;
          last_holder[expert.index()] = RankId{rank};
        }
      }
    }
  }
  return duplicates;
}

std::int64_t moved_expert_count(const Placement& before, const Placement& after) {
  EPLB_ASSERT(before.shape() == after.shape());
  std::int64_t moved = 0;
  for (std::size_t layer = 0; layer < after.layers().size(); ++layer) {
    const LayerPlacement& old_layer = before.layers()[layer];
    const LayerPlacement& new_layer = after.layers()[layer];
    RankOfExpert last_holder(static_cast<std::size_t>(old_layer.expert_count()), kNoRank);
    for (std::int32_t rank = 0; rank < new_layer.rank_count(); ++rank) {
      for (const LogicalExpertId expert : old_layer.on_rank(RankId{rank})) {
        if (expert != kNoExpert) {
          last_holder[expert.index()] = RankId{rank};
        }
      }
      for (const LogicalExpertId expert : new_layer.on_rank(RankId{rank})) {
        moved += expert != kNoExpert && last_holder[expert.index()] != RankId{rank} ? 1 : 0;
      }
    }
  }
  return moved;
}

}  // namespace eplb
