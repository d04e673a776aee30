#include "flash_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "layerwise.hpp"
#include "rank_assignment.hpp"
#include "serving_layer.hpp"

namespace eplb::placement {
namespace {

/// When a layer is planned anew: its levelness has fallen below a share of what a plan reaches, or
/// below a floor.
struct Trigger {
  double share;
  double floor;
};

constexpr Trigger kTrigger{.share = 0.95, .floor = 0.9};
constexpr Trigger kLargeGroupTrigger{.share = 0.9, .floor = 0.85};
constexpr std::int32_t kLargeGroup = 32;  ///< Ranks.

/// The layer's load in the window's parts, [experts][parts].
std::vector<std::vector<double>> parts_of(const PolicyProblem& problem, LayerId layer) {
  const auto parts = problem.history.last(static_cast<std::size_t>(problem.window_part_count));
  std::vector<std::vector<double>> load(static_cast<std::size_t>(problem.shape.expert_count));
  for (std::size_t expert = 0; expert < load.size(); ++expert) {
    for (const RealLoadMatrix& part : parts) {
      load[expert].push_back(part(layer.value, static_cast<Eigen::Index>(expert)));
    }
  }
  return load;
}

/// Experts that each rank holds; none where slots are empty, so that there is nothing to keep.
FlashLayer::Packs packs_of(const LayerPlacement& layer) {
  FlashLayer::Packs packs(static_cast<std::size_t>(layer.rank_count()));
  for (std::size_t rank = 0; rank < packs.size(); ++rank) {
    for (const LogicalExpertId expert : layer.on_rank(RankId{static_cast<std::int32_t>(rank)})) {
      if (expert == kNoExpert) {
        return {};
      }
      packs[rank].push_back(expert.index());
    }
  }
  return packs;
}

bool needs_plan(double now, double planned, std::int32_t rank_count) {
  const Trigger trigger = rank_count < kLargeGroup ? kTrigger : kLargeGroupTrigger;
  return now < planned && (now < trigger.share * planned || now < trigger.floor);
}

std::vector<LogicalExpertId> renamed(const FlashLayer::Packs& packs,
                                     const LayerPlacement& serving) {
  const auto expert_count = static_cast<std::size_t>(serving.expert_count());
  std::vector<std::uint8_t> held(packs.size() * expert_count, 0);
  for (std::size_t rank = 0; rank < packs.size(); ++rank) {
    for (const LogicalExpertId expert : serving.on_rank(RankId{static_cast<std::int32_t>(rank)})) {
      if (expert != kNoExpert) {
        held[rank * expert_count + expert.index()] = 1;
      }
    }
  }
  std::vector<LogicalExpertId> occupants;
  for (const std::size_t expert : on_present_ranks(packs, held)) {
    occupants.push_back(LogicalExpertId{static_cast<std::int32_t>(expert)});
  }
  return occupants;
}

}  // namespace

Result<Placement> FlashPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double>) {
    const LayerPlacement serving = serving_layer(problem, layer);
    const FlashLayer flash(
        options_,
        {.rank_count = static_cast<std::size_t>(problem.shape.rank_count),
         .slots_per_rank = static_cast<std::size_t>(problem.shape.slots_per_rank())},
        parts_of(problem, layer));
    const FlashLayer::Packs packs = packs_of(serving);
    const double now = packs.empty() ? 0 : flash.levelness(packs);
    std::vector<LogicalExpertId> occupants(serving.occupants().begin(), serving.occupants().end());
    // No plan is better than level.
    if (needs_plan(now, 1, problem.shape.rank_count)) {
      const FlashLayer::Packs planned = flash.plan();
      if (needs_plan(now, flash.levelness(planned), problem.shape.rank_count)) {
        occupants = renamed(planned, serving);
      }
    }
    return with_slots_kept(problem, layer, std::move(occupants));
  });
}

}  // namespace eplb::placement
