#include "eplb/core/policy.hpp"

#include "eplb/core/assert.hpp"

namespace eplb {

RealLoadMatrix window_load(const PolicyProblem& problem) {
  const auto parts = static_cast<std::size_t>(problem.window_part_count);
  EPLB_ASSERT_OP(parts, <=, problem.history.size());
  RealLoadMatrix sum = RealLoadMatrix::Zero(problem.shape.layer_count, problem.shape.expert_count);
  for (const RealLoadMatrix& part : problem.history.last(parts)) {
    sum += part;
  }
  return sum;
}

}  // namespace eplb
