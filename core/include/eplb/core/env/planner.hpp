#pragma once

#include <optional>

#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"

namespace eplb::env {

/// Runs the policy beside the serving. At most one plan is asked for at a time.
class Planner {
 public:
  Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  Planner(Planner&&) = delete;
  Planner& operator=(Planner&&) = delete;
  virtual ~Planner() = default;

  /// What `problem` refers to stays unchanged until poll gives a value.
  virtual void submit(const PolicyProblem& problem) = 0;

  /// The plan, once, when it is ready.
  [[nodiscard]] virtual std::optional<Result<Placement>> poll() = 0;
};

}  // namespace eplb::env
