#include "score_report.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "eplb/cli/table.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::string& policy, const Score& score, bool several_nodes) {
  Json json;
  json["policy"] = policy;
  json["balancedness"] = score.balancedness;
  json["worst"] = score.worst;
  json["regret"] = score.regret;
  json["moved"] = score.moved;
  json["duplicates"] = score.duplicates;
  json["plan_ms"] = score.plan_ms;
  json["balancedness_hashed"] = score.balancedness_hashed;
  json["worst_hashed"] = score.worst_hashed;
  json["balancedness_shares"] = score.balancedness_shares;
  json["balancedness_exact"] = score.balancedness_exact;
  if (several_nodes) {
    json["balancedness_nearest"] = score.balancedness_nearest;
    json["network_share"] = score.network_share;
  }
  return json;
}

Json json_of(const ScoreReport& report, const std::vector<Score>& scores) {
  Json results = Json::array();
  for (std::size_t index = 0; index < report.policies.size(); ++index) {
    results.push_back(json_of(report.policies[index], scores[index], report.node_count > 1));
  }
  return results;
}

Json json_of(const Ceiling& ceiling) {
  Json json;
  json["forecast"] = ceiling.forecast;
  json["bound"] = ceiling.bound;
  return json;
}

std::vector<Score> mean_scores(const ScoreReport& report) {
  std::vector<Score> means;
  means.reserve(report.policies.size());
  for (std::size_t index = 0; index < report.policies.size(); ++index) {
    std::vector<Score> scores;
    scores.reserve(report.traces.size());
    for (const TraceScores& trace : report.traces) {
      scores.push_back(trace.scores[index]);
    }
    means.push_back(mean_score(scores));
  }
  return means;
}

Ceiling mean_ceiling(const ScoreReport& report) {
  Ceiling mean;
  const auto count = static_cast<double>(report.traces.size());
  for (const TraceScores& trace : report.traces) {
    mean.forecast += trace.ceiling.forecast / count;
    mean.bound += trace.ceiling.bound / count;
  }
  return mean;
}

void print_table(const ScoreReport& report, const std::vector<Score>& scores,
                 const Ceiling& ceiling, std::ostream& out) {
  std::vector<std::string> head{"policy", "balanced", "worst", "hashed",     "worst",  "shares",
                                "exact",  "regret",   "moved", "duplicates", "plan ms"};
  const bool several_nodes = report.node_count > 1;
  if (several_nodes) {
    head.insert(head.end(), {"nearest", "leaving"});
  }
  std::vector<Table::Align> columns(head.size(), Table::Align::kRight);
  columns.front() = Table::Align::kLeft;
  Table table(std::move(columns));
  table.add(std::move(head));
  for (std::size_t index = 0; index < report.policies.size(); ++index) {
    const Score& score = scores[index];
    std::vector<std::string> cells{report.policies[index],
                                   fmt::format("{:.4f}", score.balancedness),
                                   fmt::format("{:.4f}", score.worst),
                                   fmt::format("{:.4f}", score.balancedness_hashed),
                                   fmt::format("{:.4f}", score.worst_hashed),
                                   fmt::format("{:.4f}", score.balancedness_shares),
                                   fmt::format("{:.4f}", score.balancedness_exact),
                                   fmt::format("{:.4f}", score.regret),
                                   fmt::format("{:.1f} %", 100 * score.moved),
                                   fmt::format("{:.2f}", score.duplicates),
                                   fmt::format("{:.2f}", score.plan_ms)};
    if (several_nodes) {
      cells.push_back(fmt::format("{:.4f}", score.balancedness_nearest));
      cells.push_back(fmt::format("{:.1f} %", 100 * score.network_share));
    }
    table.add(std::move(cells));
  }
  table.add({"default, perfect forecast", fmt::format("{:.4f}", ceiling.forecast)});
  table.add({"bound", fmt::format("{:.4f}", ceiling.bound)});
  table.print(out);
}

}  // namespace

Json score_json(const ScoreReport& report) {
  Json json;
  json["schema"] = "eplb.score/1";
  json["results"] = json_of(report, mean_scores(report));
  json["ceiling"] = json_of(mean_ceiling(report));
  json["traces"] = Json::array();
  for (const TraceScores& trace : report.traces) {
    Json entry;
    entry["loads"] = trace.loads_file;
    entry["plans"] = trace.plan_count;
    entry["results"] = json_of(report, trace.scores);
    entry["ceiling"] = json_of(trace.ceiling);
    json["traces"].push_back(std::move(entry));
  }
  return json;
}

void print_scores(const ScoreReport& report, std::ostream& out) {
  for (const TraceScores& trace : report.traces) {
    out << fmt::format("{}: plans {}, layers {}, slots {}, ranks {}\n", trace.loads_file,
                       trace.plan_count, trace.shape.layer_count, trace.shape.slot_count(),
                       trace.shape.rank_count);
    print_table(report, trace.scores, trace.ceiling, out);
    out << '\n';
  }
  if (report.traces.size() > 1) {
    out << fmt::format("mean of {} traces (worst: of all)\n", report.traces.size());
    print_table(report, mean_scores(report), mean_ceiling(report), out);
    out << '\n';
  }
  out << "balanced: mean / largest rank load of the window after the plan, even split over "
         "replicas; hashed: as the published hash splits;\n"
         "shares: as shares learnt from the newest window before the plan split; exact: the best "
         "split of the window served.\n"
         "regret: largest rank load / bound. moved: share of all slots a plan, the first plan left "
         "out. duplicates: a layer.\n";
  if (report.node_count > 1) {
    out << "nearest: where every rank takes the replicas of its own node if there are any; "
           "leaving: "
           "share of rows that leave their node then.\n";
  }
}

}  // namespace eplb::cli
