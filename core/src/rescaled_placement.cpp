#include "rescaled_placement.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace eplb {

Shape with_ranks(Shape shape, std::int32_t rank_count) {
  shape.redundant_slot_count = shape.slots_per_rank() * rank_count - shape.expert_count;
  shape.rank_count = rank_count;
  return shape;
}

Result<Placement> rescaled(const Placement& placement, const RankMapping& mapping,
                           std::int32_t rank_count) {
  const Shape shape = with_ranks(placement.shape(), rank_count);
  if (auto valid = validate(shape); !valid) {
    return tl::unexpected(valid.error());
  }
  if (mapping.size() != static_cast<std::size_t>(placement.shape().rank_count)) {
    return fail(ErrorCode::kInvalidArgument, "a rank mapping needs an entry for each old rank");
  }
  std::vector<bool> named(static_cast<std::size_t>(rank_count), false);
  for (const RankId rank : mapping) {
    if (rank.value >= rank_count) {
      return fail(ErrorCode::kInvalidArgument, "a rank mapping names a rank out of range");
    }
    if (rank.value >= 0) {
      if (named[rank.index()]) {
        return fail(ErrorCode::kInvalidArgument, "a rank mapping names a rank twice");
      }
      named[rank.index()] = true;
    }
  }
  std::vector<LayerPlacement> layers;
  for (const LayerPlacement& layer : placement.layers()) {
    std::vector<LogicalExpertId> occupants(static_cast<std::size_t>(shape.slot_count()), kNoExpert);
    for (std::size_t rank = 0; rank < mapping.size(); ++rank) {
      if (mapping[rank].value >= 0) {
        std::ranges::copy(
            layer.on_rank(RankId{static_cast<std::int32_t>(rank)}),
            occupants.begin() + std::ptrdiff_t{mapping[rank].value} * shape.slots_per_rank());
      }
    }
    auto renumbered = LayerPlacement::create(shape, std::move(occupants));
    if (!renumbered) {
      return tl::unexpected(renumbered.error());
    }
    layers.push_back(std::move(*renumbered));
  }
  return Placement::create(shape, std::move(layers));
}

}  // namespace eplb
