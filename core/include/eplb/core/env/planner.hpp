#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "eplb/core/migration_schedule.hpp"
#include "eplb/core/result.hpp"

namespace eplb::env {

struct PlanAnswer {
  std::int64_t rearrangement = 0;  ///< Of the request.
  Result<std::shared_ptr<const MigrationSchedule>> schedule;
};

/// Runs plan_rearrangement with the group's policy, beside the serving.
class Planner {
 public:
  Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  Planner(Planner&&) = delete;
  Planner& operator=(Planner&&) = delete;
  virtual ~Planner() = default;

  /// A request may be given up: its answer is then discarded by its number. What is submitted
  /// meanwhile is answered later, in order.
  virtual void submit(PlanRequest request) = 0;

  /// The oldest answer that is ready, once.
  [[nodiscard]] virtual std::optional<PlanAnswer> poll() = 0;
};

}  // namespace eplb::env
