#include "snake_policy.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "descending_order.hpp"
#include "layerwise.hpp"
#include "replication.hpp"
#include "serving_layer.hpp"

namespace eplb::placement {
namespace {

std::vector<LogicalExpertId> deal(std::span<const double> load, const Shape& shape) {
  const auto slot_count = static_cast<std::size_t>(shape.slot_count());
  const auto rank_count = static_cast<std::size_t>(shape.rank_count);
  const std::vector<std::int32_t> expert_of_copy = give_copies(load, slot_count);
  const std::vector<double> load_of_copy = load_of_copies(load, std::span(expert_of_copy));
  std::vector<LogicalExpertId> occupants(slot_count);
  std::size_t dealt = 0;
  for (const std::int32_t copy : descending_order(std::span<const double>(load_of_copy))) {
    const std::size_t round = dealt / rank_count;
    const std::size_t place = dealt % rank_count;
    const std::size_t rank = round % 2 == 0 ? place : rank_count - 1 - place;
    occupants[rank * static_cast<std::size_t>(shape.slots_per_rank()) + round] =
        LogicalExpertId{expert_of_copy[static_cast<std::size_t>(copy)]};
    ++dealt;
  }
  return occupants;
}

}  // namespace

Result<Placement> SnakePolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double> load) {
    return with_slots_kept(problem, layer, deal(load, problem.shape));
  });
}

}  // namespace eplb::placement
