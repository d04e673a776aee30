#pragma once

#include <cstdint>

#include "eplb/core/result.hpp"

namespace eplb {

/// The sizes that every placement of one model on one EP group shares.
struct Shape {
  std::int32_t layer_count = 0;           ///< MoE layers, L. A pipeline stage may have none.
  std::int32_t expert_count = 0;          ///< Logical experts a layer, E.
  std::int32_t redundant_slot_count = 0;  ///< Slots beyond one for each expert, R.
  std::int32_t rank_count = 0;            ///< Ranks of the EP group, G.
  std::int32_t expert_group_count = 1;    ///< Groups of experts that a router limits itself to.

  [[nodiscard]] constexpr std::int32_t slot_count() const {
    return expert_count + redundant_slot_count;
  }

  /// Slots a rank; exact, since a valid shape divides.
  [[nodiscard]] constexpr std::int32_t slots_per_rank() const { return slot_count() / rank_count; }

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Most redundant slots of the reference (MAX_EXPERT_REDUNDANCY).
inline constexpr std::int32_t kMaxRedundantSlots = 1023;

/// Far beyond any model, and small enough that no count of slots overflows.
inline constexpr std::int32_t kMaxExperts = 1 << 20;

/// The least redundancy, at or above `redundant_slot_count`, that fills all ranks evenly; it may
/// exceed kMaxRedundantSlots. Needs a positive rank count.
[[nodiscard]] std::int32_t nearest_legal_redundancy(const Shape& shape);

/// kInvalidArgument if a count is out of range or slots do not divide over ranks; the message
/// names the nearest legal redundancy, if there is one.
[[nodiscard]] Result<void> validate(const Shape& shape);

}  // namespace eplb
