#include "trial_load.hpp"

#include <limits>
#include <span>

namespace eplb::sim {

std::int64_t TrialTokens::count_of(std::int32_t layer, std::int32_t expert, std::int64_t step) {
  constexpr std::int64_t kStepsPerHotSet = 9;
  const std::int32_t experts = swarm_.shape.expert_count;
  const auto few = static_cast<std::int64_t>(random_.below(6));
  switch (swarm_.load) {
    case TrialLoad::kSpread:
      return few;
    case TrialLoad::kSwitching:
      return expert == (layer + step / kStepsPerHotSet) % experts ? 50 + few : few / 3;
    case TrialLoad::kOneExpert:
      return expert == layer % experts ? 40 : 0;
    case TrialLoad::kNone:
      return 0;
    case TrialLoad::kHuge:
      return std::numeric_limits<std::int32_t>::max() - few;
  }
  return 0;
}

RankCounts TrialTokens::draw(const SimRank& rank, const Shape& shape, std::int64_t step) {
  RankCounts counts{.logical = LoadMatrix::Zero(shape.layer_count, shape.expert_count),
                    .physical = LoadMatrix::Zero(shape.layer_count, shape.slot_count())};
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const LayerMap& map = rank.maps().map(LayerId{layer});
    for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
      const std::int64_t count = count_of(layer, expert, step);
      counts.logical(layer, expert) = count;
      const std::span<const std::int32_t> slots = map.slots(LogicalExpertId{expert});
      const auto replica_count = static_cast<std::int64_t>(slots.size());
      const auto favoured = static_cast<std::size_t>(replicas_.below(slots.size()));
      for (std::size_t replica = 0; replica < slots.size(); ++replica) {
        const std::int64_t rest = replica == favoured ? count % replica_count : 0;
        counts.physical(layer, slots[replica]) = count / replica_count + rest;
      }
    }
  }
  return counts;
}

}  // namespace eplb::sim
