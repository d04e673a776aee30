#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace eplb {

/// An index that cannot be mistaken for another kind of index. -1 means "none" where a
/// declaration says that none is possible.
template <typename Tag, typename Rep = std::int32_t>
struct StrongId {
  Rep value{};

  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

using LayerId = StrongId<struct LayerTag>;                  ///< MoE layer; dense layers have none.
using LogicalExpertId = StrongId<struct LogicalExpertTag>;  ///< Expert of the model, in a layer.
using SlotId = StrongId<struct SlotTag>;           ///< Place for one expert's weights, rank-major.
using LocalSlot = StrongId<struct LocalSlotTag>;   ///< Slot within its rank.
using ReplicaIndex = StrongId<struct ReplicaTag>;  ///< Copy of an expert, [0, replica_count).
using RankId = StrongId<struct RankTag>;           ///< Member of the EP group.
using NodeId = StrongId<struct NodeTag>;           ///< Ranks that share a host.
using DomainId = StrongId<struct DomainTag>;       ///< Ranks that share an NVLink domain.
using StepIndex = StrongId<struct StepTag, std::int64_t>;  ///< One engine forward.

/// Occupant of an empty slot (a leaving or new rank in elastic scaling).
inline constexpr LogicalExpertId kNoExpert{-1};

}  // namespace eplb
