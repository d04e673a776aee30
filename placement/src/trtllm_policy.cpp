#include "trtllm_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layerwise.hpp"
#include "packing.hpp"
#include "replication.hpp"

namespace eplb::placement {
namespace {

/// Expert of each copy, ascending, [slots]. Without load all experts get alike, the lowest ids one
/// more where slots do not divide.
std::vector<std::int32_t> expert_of_copies(std::span<const double> load, std::size_t slot_count) {
  std::vector<std::int32_t> expert_of_copy;
  if (std::ranges::any_of(load, [](double value) { return value > 0; })) {
    expert_of_copy = give_copies<WinRule::kLargestThenHighestId>(load, slot_count);
  } else {
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
      expert_of_copy.push_back(static_cast<std::int32_t>(slot % load.size()));
    }
  }
  std::ranges::sort(expert_of_copy);
  return expert_of_copy;
}

}  // namespace

Result<Placement> TrtllmPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId, std::span<const double> load) {
    const auto slot_count = static_cast<std::size_t>(problem.shape.slot_count());
    const std::vector<std::int32_t> expert_of_copy = expert_of_copies(load, slot_count);
    const std::vector<double> load_of_copy = load_of_copies(load, std::span(expert_of_copy));
    std::vector<LogicalExpertId> occupants;
    occupants.reserve(slot_count);
    for (const std::int32_t copy :
         pack_greedily(std::span<const double>(load_of_copy), problem.shape.rank_count)) {
      occupants.push_back(LogicalExpertId{expert_of_copy[static_cast<std::size_t>(copy)]});
    }
    return occupants;
  });
}

}  // namespace eplb::placement
