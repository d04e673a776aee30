#include "plan_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "eplb/cli/table.hpp"

namespace eplb::cli {
namespace {

/// "1 layer", "2 layers".
std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string duplicates_in_words(std::int64_t duplicates) {
  return duplicates == 0 ? "no rank holds an expert twice"
         : duplicates == 1
             ? "1 slot holds a second copy of an expert that its rank already has"
             : fmt::format("{} slots hold a second copy of an expert that its rank already has",
                           duplicates);
}

}  // namespace

nlohmann::ordered_json plan_json(const PlanReport& report) {
  using Json = nlohmann::ordered_json;
  Json map = Json::array();
  for (const LayerPlacement& layer : report.placement.layers()) {
    Json slots = Json::array();
    for (const LogicalExpertId expert : layer.occupants()) {
      slots.push_back(expert.value);
    }
    map.push_back(std::move(slots));
  }
  const PlanEvaluation& evaluation = report.evaluation;
  Json json;
  json["schema"] = "eplb.plan/1";
  json["physical_to_logical_map"] = std::move(map);
  json["balancedness"] = evaluation.balancedness;
  json["balancedness_hashed"] = evaluation.balancedness_hashed;
  json["imbalance"]["mean"] = evaluation.imbalance.mean;
  json["imbalance"]["max_layer"] = evaluation.imbalance.max_layer;
  json["bound"] = evaluation.bound;
  json["regret"] = evaluation.regret;
  json["bound_split"] = evaluation.bound_split;
  json["duplicates"] = evaluation.duplicates;
  json["moved_experts"] = evaluation.moved_experts;
  json["plan_ms"] = report.plan_ms;
  if (report.spare_study.has_value()) {
    json["spare_study"] = spare_study_json(*report.spare_study);
  }
  return json;
}

void print_plan(const PlanReport& report, std::ostream& out) {
  const Shape& shape = report.placement.shape();
  const PlanEvaluation& evaluation = report.evaluation;
  const std::int64_t slot_total = std::int64_t{shape.slot_count()} * shape.layer_count;
  out << fmt::format("{} of {}, {} redundant, on {} of {}, policy {}\nload: {} of {}\n\n",
                     counted(shape.layer_count, "layer"), counted(shape.expert_count, "expert"),
                     shape.redundant_slot_count, counted(shape.rank_count, "rank"),
                     counted(report.node_count, "node"), report.policy,
                     counted(static_cast<std::int64_t>(report.window_count), "window"),
                     report.loads_file);
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  const auto add = [&](std::string name, std::string value, std::string meaning) {
    table.add({std::move(name), std::move(value), std::move(meaning)});
  };
  add("balancedness", fmt::format("{:.4f}", evaluation.balancedness),
      "mean / largest rank load, even split over replicas; 1 is perfect");
  add("balancedness_hashed", fmt::format("{:.4f}", evaluation.balancedness_hashed),
      fmt::format("the same under the published hash, {} a rank",
                  counted(report.rows_per_rank, "row")));
  add("imbalance", fmt::format("{:.4f}", evaluation.imbalance.mean),
      fmt::format("largest / mean rank load, mean over layers; worst layer {:.4f}",
                  evaluation.imbalance.max_layer));
  add("bound", fmt::format("{:.1f}", evaluation.bound),
      "tokens on the busiest rank that no placement can undercut");
  add("regret", fmt::format("{:.4f}", evaluation.regret),
      "largest rank load / bound, mean over layers; 1 cannot be beaten");
  add("bound_split", fmt::format("{:.1f}", evaluation.bound_split),
      "tokens on the busiest rank if the replicas shared in the best way");
  add("duplicates", std::to_string(evaluation.duplicates),
      duplicates_in_words(evaluation.duplicates));
  add("moved_experts", std::to_string(evaluation.moved_experts),
      fmt::format("of {} are new to their rank since {}", counted(slot_total, "slot"),
                  report.before));
  add("plan_ms", fmt::format("{:.2f}", report.plan_ms), "the policy's call alone");
  table.print(out);
  if (report.spare_study.has_value()) {
    print_spare_study(*report.spare_study, shape, out);
  }
}

}  // namespace eplb::cli
