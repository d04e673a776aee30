#include "static_policy.hpp"

#include "default_policy.hpp"
#include "layerwise.hpp"

namespace eplb::placement {

Result<Placement> StaticPolicy::place(const PolicyProblem& problem) const {
  if (auto checked = check_problem(problem); !checked) {
    return tl::unexpected(checked.error());
  }
  const bool planned = problem.current != nullptr && problem.current->shape() == problem.shape &&
                       *problem.current != Placement::initial(problem.shape);
  return planned ? *problem.current : DefaultPolicy().place(problem);
}

}  // namespace eplb::placement
