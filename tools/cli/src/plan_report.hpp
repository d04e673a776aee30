#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "eplb/core/placement.hpp"
#include "plan_evaluation.hpp"
#include "spare_study.hpp"

namespace eplb::cli {

/// All that `eplb plan` reports.
struct PlanReport {
  Placement placement;
  PlanEvaluation evaluation;
  double plan_ms = 0;  ///< The policy's call alone; 0 where none was made.
  bool has_load = true;
  std::optional<SpareStudy> spare_study = {};  ///< Where it was asked for.

  // How it came about, for people.
  std::string policy;
  std::string loads_file;
  std::size_t window_count = 0;
  std::int32_t node_count = 1;
  std::int32_t rows_per_rank = 0;
  std::string before;  ///< What moves are counted from, in words.
};

/// The stable form for programs, schema "eplb.plan/1": keys in a fixed order.
[[nodiscard]] nlohmann::ordered_json plan_json(const PlanReport& report);

/// The same for people, but for the placement itself.
void print_plan(const PlanReport& report, std::ostream& out);

}  // namespace eplb::cli
