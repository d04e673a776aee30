#include "eplb/core/layer_map.hpp"

#include <algorithm>

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

LayerMap LayerMap::from(const LayerPlacement& placement, const LayerShares& shares) {
  EPLB_ASSERT_OP(shares.units().size(), ==, static_cast<std::size_t>(placement.slot_count()));
  LayerMap map = from(placement);
  const std::size_t width = map.block_width_ - 2;
  map.thresholds_.assign(static_cast<std::size_t>(map.expert_count_) * width, kShareUnits);
  for (std::int32_t expert = 0; expert < map.expert_count_; ++expert) {
    const auto slots = map.slots(LogicalExpertId{expert});
    std::uint32_t sum = 0;
    for (std::size_t replica = 0; replica + 1 < slots.size(); ++replica) {
      sum += shares.units()[static_cast<std::size_t>(slots[replica])];
      map.thresholds_[static_cast<std::size_t>(expert) * width + replica] =
          static_cast<std::uint16_t>(sum);
    }
  }
  return map;
}

LayerMap LayerMap::nearest(const LayerPlacement& placement, const Topology& topology,
                           DomainId domain) {
  LayerMap map = from(placement);
  for (std::size_t first = 0; first < map.blocks_.size(); first += map.block_width_) {
    const auto slots = std::span(map.blocks_).subspan(first + 1, map.block_width_ - 1);
    const auto all = slots.first(static_cast<std::size_t>(map.blocks_[first]));
    const auto is_near = [&](std::int32_t slot) {
      return topology.domain_of(placement.rank_of(SlotId{slot})) == domain;
    };
    const auto far = std::stable_partition(all.begin(), all.end(), is_near);
    if (far != all.begin()) {
      std::fill(far, all.end(), -1);
      map.blocks_[first] = static_cast<std::int32_t>(far - all.begin());
    }
  }
  return map;
}

std::span<const std::uint16_t> LayerMap::thresholds(LogicalExpertId expert) const {
  if (!has_shares()) {
    return {};
  }
  const auto count = static_cast<std::size_t>(std::max(replica_count(expert), 1));
  return std::span(thresholds_).subspan(expert.index() * (block_width_ - 2), count - 1);
}

ReplicaIndex LayerMap::replica(ReplicaChoice choice, const ReplicaKey& key) const {
  const LogicalExpertId expert{static_cast<std::int32_t>(key.expert)};
  const auto count = static_cast<std::uint32_t>(replica_count(expert));
  std::uint32_t replica = 0;
  if (is_even(choice)) {
    replica = choose_replica(choice, key, count);
  } else if (has_shares()) {
    const auto limits = thresholds(expert);
    replica =
        shared_replica(share_point(key), limits.data(), static_cast<std::uint32_t>(limits.size()));
  } else {
    const std::uint32_t point = share_point(key);
    while (replica + 1 < count && even_threshold(replica, count) <= point) {
      ++replica;
    }
  }
  return ReplicaIndex{static_cast<std::int32_t>(replica)};
}

}  // namespace eplb
