#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"

namespace eplb {

/// Which expert occupies each slot of one layer. Immutable; slot p lives on rank
/// p / slots_per_rank.
class LayerPlacement {
 public:
  /// `occupants` has shape.slot_count() entries in [-1, expert_count), every expert at least once.
  /// kInvalidArgument names the first entry that breaks this.
  [[nodiscard]] static Result<LayerPlacement> create(const Shape& shape,
                                                     std::vector<LogicalExpertId> occupants);

  /// Slot p holds expert p mod E: what a loader fills before any load is known. Needs a valid
  /// shape.
  [[nodiscard]] static LayerPlacement initial(const Shape& shape);

  [[nodiscard]] std::int32_t slot_count() const {
    return static_cast<std::int32_t>(occupants_.size());
  }

  [[nodiscard]] std::int32_t expert_count() const { return expert_count_; }

  [[nodiscard]] std::int32_t rank_count() const { return slot_count() / slots_per_rank_; }

  [[nodiscard]] std::int32_t slots_per_rank() const { return slots_per_rank_; }

  [[nodiscard]] std::span<const LogicalExpertId> occupants() const { return occupants_; }

  [[nodiscard]] LogicalExpertId occupant(SlotId slot) const { return occupants_[slot.index()]; }

  /// The occupants of a rank's slots, in local order.
  [[nodiscard]] std::span<const LogicalExpertId> on_rank(RankId rank) const {
    return std::span(occupants_)
        .subspan(first_slot(rank).index(), static_cast<std::size_t>(slots_per_rank_));
  }

  [[nodiscard]] RankId rank_of(SlotId slot) const { return RankId{slot.value / slots_per_rank_}; }

  [[nodiscard]] SlotId first_slot(RankId rank) const {
    return SlotId{rank.value * slots_per_rank_};
  }

  /// Copies of each expert, [experts].
  [[nodiscard]] std::vector<std::int32_t> replica_counts() const;

  friend bool operator==(const LayerPlacement&, const LayerPlacement&) = default;

 private:
  LayerPlacement(const Shape& shape, std::vector<LogicalExpertId> occupants)
      : occupants_(std::move(occupants)),
        expert_count_(shape.expert_count),
        slots_per_rank_(shape.slots_per_rank()) {}

  std::vector<LogicalExpertId> occupants_;
  std::int32_t expert_count_;
  std::int32_t slots_per_rank_;
};

/// Layer -> slot -> logical expert: the single source of truth. Layer maps, replica counts and
/// migration plans are all derived from it. Immutable; a commit makes a new value.
class Placement {
 public:
  /// One LayerPlacement a layer, all of `shape`. kInvalidArgument on an invalid shape or on another
  /// count or size.
  [[nodiscard]] static Result<Placement> create(const Shape& shape,
                                                std::vector<LayerPlacement> layers);

  /// LayerPlacement::initial in every layer. Needs a valid shape.
  [[nodiscard]] static Placement initial(const Shape& shape);

  [[nodiscard]] const Shape& shape() const { return shape_; }

  [[nodiscard]] std::span<const LayerPlacement> layers() const { return layers_; }

  [[nodiscard]] const LayerPlacement& layer(LayerId layer) const { return layers_[layer.index()]; }

  /// This placement with one layer exchanged for another of the same shape.
  [[nodiscard]] Placement with_layer(LayerId layer, LayerPlacement replacement) &&;

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  Placement(const Shape& shape, std::vector<LayerPlacement> layers)
      : shape_(shape), layers_(std::move(layers)) {}

  Shape shape_;
  std::vector<LayerPlacement> layers_;
};

/// Slots that hold an expert which an earlier slot of the same rank holds too: wasted memory.
[[nodiscard]] std::int64_t duplicate_count(const Placement& placement);

/// Slots whose expert was nowhere on their rank before: what must cross between ranks, at most.
[[nodiscard]] std::int64_t moved_expert_count(const Placement& before, const Placement& after);

}  // namespace eplb
