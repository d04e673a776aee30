#pragma once

#include <cstdint>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/replica_choice.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::test {

/// Which slots a rank's tokens fall on.
struct DealtForward {
  LoadMatrix logical;   ///< [layers, experts].
  LoadMatrix physical;  ///< [layers, slots].
  LoadMatrix experts;   ///< [layers, slots]: whose weights a token expects there; -1 where none is.
};

/// Gives each token a replica of its expert by the row that it stands in. `map_of(LayerId)` is what
/// the rank's forward looks up.
template <typename MapOf>
[[nodiscard]] DealtForward deal_forward(const LoadMatrix& tokens, const Shape& shape, RankId rank,
                                        const MapOf& map_of) {
  DealtForward dealt{.logical = tokens,
                     .physical = LoadMatrix::Zero(shape.layer_count, shape.slot_count()),
                     .experts = LoadMatrix::Constant(shape.layer_count, shape.slot_count(), -1)};
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const LayerMap& map = map_of(LayerId{layer});
    std::uint32_t row = 0;
    for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
      const auto replicas = static_cast<std::uint32_t>(map.replica_count(LogicalExpertId{expert}));
      for (std::int64_t token = 0; token < tokens(layer, expert); ++token, ++row) {
        const std::uint32_t replica =
            choose_replica(ReplicaChoice::kHash,
                           {.row = row,
                            .rank = static_cast<std::uint32_t>(rank.value),
                            .layer = static_cast<std::uint32_t>(layer),
                            .expert = static_cast<std::uint32_t>(expert)},
                           replicas);
        const SlotId slot =
            map.slot(LogicalExpertId{expert}, ReplicaIndex{static_cast<std::int32_t>(replica)});
        ++dealt.physical(layer, slot.value);
        dealt.experts(layer, slot.value) = expert;
      }
    }
  }
  return dealt;
}

}  // namespace eplb::test
