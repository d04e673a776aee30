#include "linear_policy.hpp"

namespace eplb::placement {

Result<Placement> LinearPolicy::place(const PolicyProblem& problem) const {
  if (auto valid = validate(problem.shape); !valid) {
    return tl::unexpected(valid.error());
  }
  return Placement::initial(problem.shape);
}

}  // namespace eplb::placement
