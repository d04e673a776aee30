#include "newest_parts_policy.hpp"

#include <algorithm>

namespace eplb::placement {

Result<Placement> NewestPartsPolicy::place(const PolicyProblem& problem) const {
  PolicyProblem newest = problem;
  newest.window_part_count = std::min(problem.window_part_count, part_count_);
  return policy_->place(newest);
}

}  // namespace eplb::placement
