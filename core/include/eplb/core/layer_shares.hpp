#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/replica_choice.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// How one layer's experts split their tokens over their replicas: a share for every slot, in whole
/// units of 1 / kShareUnits, so that host and device, and all ranks, have the same. Immutable.
class LayerShares {
 public:
  /// `units` is [slots]: those of each expert's slots sum to kShareUnits, an empty slot has 0.
  /// kInvalidArgument names the first entry that breaks this.
  [[nodiscard]] static Result<LayerShares> create(const LayerPlacement& placement,
                                                  std::vector<std::uint16_t> units);

  /// Every replica of an expert alike; the first ones have the units that are left over.
  [[nodiscard]] static LayerShares even(const LayerPlacement& placement);

  /// The units nearest to `weights`, [slots], finite and not negative, of which only the ratios
  /// within an expert count; even where an expert's are all zero.
  [[nodiscard]] static LayerShares nearest(const LayerPlacement& placement,
                                           std::span<const double> weights);

  [[nodiscard]] std::span<const std::uint16_t> units() const { return units_; }

  /// Part of its occupant's tokens that a slot gets, in [0, 1].
  [[nodiscard]] double of(SlotId slot) const {
    return static_cast<double>(units_[slot.index()]) / kShareUnits;
  }

  friend bool operator==(const LayerShares&, const LayerShares&) = default;

 private:
  explicit LayerShares(std::vector<std::uint16_t> units) : units_(std::move(units)) {}

  std::vector<std::uint16_t> units_;
};

}  // namespace eplb
