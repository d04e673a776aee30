#include "newest_parts_policy.hpp"

#include <algorithm>

namespace eplb::placement {

Result<Placement> NewestPartsPolicy::place(const PolicyProblem& problem) const {
  PolicyProblem newest = problem;
  newest.window_part_count = std::min(problem.window_part_count, part_count_);
  // Parts are of as many steps each.
  newest.window_steps *= static_cast<double>(newest.window_part_count) / problem.window_part_count;
  return policy_->place(newest);
}

}  // namespace eplb::placement
