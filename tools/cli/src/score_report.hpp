#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "eplb/core/shape.hpp"
#include "score.hpp"

namespace eplb::cli {

/// How all policies did on one trace.
struct TraceScores {
  std::string loads_file;
  std::size_t plan_count = 0;
  Shape shape;
  std::vector<Score> scores;  ///< [policies]
  Ceiling ceiling;
};

/// All that `eplb score` reports.
struct ScoreReport {
  std::vector<std::string> policies;  ///< As they were asked for, with their options.
  std::vector<TraceScores> traces;    ///< At least one.
  std::int32_t node_count = 1;        ///< Where there are several the nearest replicas matter.
};

/// The stable form for programs, schema "eplb.score/1": `results` has a policy's mean over traces.
[[nodiscard]] nlohmann::ordered_json score_json(const ScoreReport& report);

/// The same for people: a table a trace, then the mean's.
void print_scores(const ScoreReport& report, std::ostream& out);

}  // namespace eplb::cli
