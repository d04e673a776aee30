#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/layer_shares.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/replica_choice.hpp"
#include "eplb/core/topology.hpp"

namespace eplb {

/// Logical expert -> its slots: the derived form that a forward looks up. Count and slots of an
/// expert stand together in one block, so that a reader never sees a new count with old slots:
///   block(e) = [replica_count, slot_0, ..., slot_R], slots ascending, unused entries -1.
/// Beside them, where the replica choice knows shares, what it compares a row's point with.
class LayerMap {
 public:
  /// Widest list that an online policy can need: R + 1, since the other experts keep a slot each.
  [[nodiscard]] static constexpr std::int32_t slots_width(const Shape& shape) {
    return shape.redundant_slot_count + 1;
  }

  /// The map of `placement`. No valid placement needs more than slots_width.
  [[nodiscard]] static LayerMap from(const LayerPlacement& placement);

  /// The same with the shares of the placement's slots.
  [[nodiscard]] static LayerMap from(const LayerPlacement& placement, const LayerShares& shares);

  /// What the ranks of an NVLink domain look up to take the nearest replicas: of an expert that has
  /// any there those alone, of another all, since beyond the domain all are equally far.
  [[nodiscard]] static LayerMap nearest(const LayerPlacement& placement, const Topology& topology,
                                        DomainId domain);

  [[nodiscard]] std::int32_t expert_count() const { return expert_count_; }

  [[nodiscard]] std::int32_t replica_count(LogicalExpertId expert) const {
    return block(expert).front();
  }

  /// The expert's slots, ascending; entry k is replica k.
  [[nodiscard]] std::span<const std::int32_t> slots(LogicalExpertId expert) const {
    return block(expert).subspan(1, static_cast<std::size_t>(replica_count(expert)));
  }

  [[nodiscard]] SlotId slot(LogicalExpertId expert, ReplicaIndex replica) const {
    return SlotId{block(expert)[replica.index() + 1]};
  }

  [[nodiscard]] bool has_shares() const { return !thresholds_.empty(); }

  /// Cumulative share units of the expert's replicas, of all but the last; empty without shares.
  [[nodiscard]] std::span<const std::uint16_t> thresholds(LogicalExpertId expert) const;

  /// The replica that a row picks: the one rule for all choices and worlds. Without shares the
  /// choices that want them pick as if all replicas had the same.
  [[nodiscard]] ReplicaIndex replica(ReplicaChoice choice, const ReplicaKey& key) const;

  [[nodiscard]] std::span<const std::int32_t> block(LogicalExpertId expert) const {
    return std::span(blocks_).subspan(expert.index() * block_width_, block_width_);
  }

  /// All blocks, [experts, R + 2] int32, as a device holds them.
  [[nodiscard]] std::span<const std::int32_t> blocks() const { return blocks_; }

  friend bool operator==(const LayerMap&, const LayerMap&) = default;

 private:
  LayerMap() = default;

  std::vector<std::int32_t> blocks_;
  std::vector<std::uint16_t> thresholds_;  ///< [experts, R]; empty without shares.
  std::size_t block_width_ = 0;
  std::int32_t expert_count_ = 0;
};

}  // namespace eplb
