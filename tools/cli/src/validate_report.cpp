#include "validate_report.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "error_texts.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

constexpr std::size_t kWorstShown = 10;

/// A figure with as many digits as its size asks for.
std::string figure_text(double value, const std::string& unit) {
  if (unit == "share") {
    return signed_percent(value);
  }
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

bool is_kernel(const ValidationRow& row) {
  return row.group.starts_with("expert kernel");
}

std::string spread_text(const ValidationRow& row) {
  if (row.range.has_value()) {
    return fmt::format("{:g} to {:g}", row.range->first, row.range->second);
  }
  if (row.sd.has_value()) {
    return row.unit == "share" ? fmt::format("+- {:.1f} %", 100 * *row.sd)
                               : fmt::format("+- {:g}", *row.sd);
  }
  return "";
}

std::string inside_text(const ValidationRow& row) {
  const auto inside = row.inside();
  return !inside.has_value() ? "" : *inside ? "inside" : "outside";
}

/// A group's rows in short.
struct GroupSum {
  std::string name;
  std::vector<double> row_errors;
  std::int64_t fitted = 0;
  std::int64_t judged = 0;
  std::int64_t inside = 0;
  sim::PredictionErrors errors;
};

std::vector<GroupSum> group_sums(const Validation& validation) {
  std::vector<GroupSum> sums;
  for (const ValidationRow& row : validation.rows) {
    auto sum = std::ranges::find(sums, row.group, &GroupSum::name);
    if (sum == sums.end()) {
      sums.emplace_back().name = row.group;
      sum = std::prev(sums.end());
    }
    sum->row_errors.push_back(row.error());
    sum->fitted += row.fitted ? 1 : 0;
    sum->judged += row.inside().has_value() ? 1 : 0;
    sum->inside += row.inside().value_or(false) ? 1 : 0;
  }
  for (GroupSum& sum : sums) {
    sum.errors = sim::summary_of(sum.row_errors);
  }
  return sums;
}

void print_groups(const Validation& validation, std::ostream& out) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add({"group", "rows", "fitted", "mean error", "bias", "inside"});
  for (const GroupSum& sum : group_sums(validation)) {
    table.add({sum.name, fmt::format("{}", sum.errors.rows), fmt::format("{}", sum.fitted),
               percent(sum.errors.mean_absolute), signed_percent(sum.errors.bias),
               sum.judged > 0 ? fmt::format("{} of {}", sum.inside, sum.judged) : ""});
  }
  table.print(out);
}

void print_rows(const Validation& validation, std::ostream& out) {
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight,
               Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.add({"case", "quantity", "published", "spread", "predicted", "error", "", "", "note"});
  for (const ValidationRow& row : validation.rows) {
    if (!is_kernel(row)) {
      table.add({row.name, row.quantity, figure_text(row.published, row.unit), spread_text(row),
                 figure_text(row.predicted, row.unit), signed_percent(row.error()),
                 row.fitted ? "fitted" : "held out", inside_text(row), row.note});
    }
  }
  table.print(out);
}

void print_kernels(const std::vector<PredictedKernel>& rows, std::ostream& out) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.add(
      {"device", "ep", "distribution", "tokens a rank", "measured, us", "predicted, us", "error"});
  for (const PredictedKernel& one : rows) {
    table.add({one.row.device, fmt::format("{}", one.row.ranks), one.row.distribution,
               fmt::format("{}", one.row.tokens_per_rank),
               fmt::format("{:.1f}", one.row.latency_us), fmt::format("{:.1f}", one.predicted_us),
               signed_percent(one.error())});
  }
  table.print(out);
}

Json kernel_json(const formats::KernelRow& row) {
  return {{"device", row.device},
          {"ep", row.ranks},
          {"tokens_per_rank", row.tokens_per_rank},
          {"hidden", row.hidden},
          {"inter", row.intermediate},
          {"experts", row.experts},
          {"top_k", row.top_k},
          {"distribution", row.distribution},
          {"latency_us", row.latency_us}};
}

Json predicted_json(const std::vector<PredictedKernel>& rows) {
  Json list = Json::array();
  for (const PredictedKernel& one : rows) {
    Json json = kernel_json(one.row);
    json["predicted_us"] = one.predicted_us;
    json["error"] = one.error();
    list.push_back(std::move(json));
  }
  return list;
}

Json skipped_json(const std::vector<SkippedKernel>& skipped) {
  Json list = Json::array();
  for (const SkippedKernel& one : skipped) {
    Json json = kernel_json(one.row);
    json["line"] = one.row.line;
    json["why"] = one.why;
    list.push_back(std::move(json));
  }
  return list;
}

Json row_json(const ValidationRow& row) {
  Json json{{"case", row.name},
            {"quantity", row.quantity},
            {"unit", row.unit},
            {"published", row.published},
            {"published_sd", row.sd.has_value() ? Json(*row.sd) : Json(nullptr)},
            {"predicted", row.predicted},
            {"error", row.error()},
            {"fitted", row.fitted},
            {"inside", row.inside().has_value() ? Json(*row.inside()) : Json(nullptr)},
            {"group", row.group},
            {"uses", row.uses}};
  if (row.range.has_value()) {
    json["published_range"] = {row.range->first, row.range->second};
  }
  if (!row.note.empty()) {
    json["note"] = row.note;
  }
  return json;
}

Json counting_json(const std::vector<CountingCost>& costs) {
  Json list = Json::array();
  for (const CountingCost& cost : costs) {
    list.push_back({{"phase", cost.phase},
                    {"tokens_per_rank", cost.tokens_per_rank},
                    {"hot_share", cost.hot_share},
                    {"counting", counting_name(cost.counting)},
                    {"layer_us", cost.layer_us},
                    {"step_ms", cost.step_ms},
                    {"share_of_expert_layers", cost.share_of_expert_layers}});
  }
  return list;
}

/// A line a phase and hot share, the three ways side by side.
void print_counting(const std::vector<CountingCost>& costs, std::ostream& out) {
  constexpr std::size_t kWays = 3;
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add({"counting by a kernel of its own", "tokens a rank", "hot share", "logical, ms a step",
             "physical", "both"});
  for (std::size_t index = 0; index + kWays <= costs.size(); index += kWays) {
    const auto cell = [&](std::size_t way) {
      const CountingCost& cost = costs[index + way];
      return fmt::format("{:.3f} ({})", cost.step_ms, percent(cost.share_of_expert_layers));
    };
    const CountingCost& first = costs[index];
    table.add({first.phase, fmt::format("{}", first.tokens_per_rank), percent(first.hot_share),
               cell(0), cell(1), cell(2)});
  }
  table.print(out);
  out << "In brackets: against the same step's expert layers, evenly loaded.\n";
}

Json groups_json(const Validation& validation) {
  Json list = Json::array();
  for (const GroupSum& sum : group_sums(validation)) {
    list.push_back({{"group", sum.name},
                    {"rows", sum.errors.rows},
                    {"fitted", sum.fitted},
                    {"mape", sum.errors.mean_absolute},
                    {"bias", sum.errors.bias},
                    {"inside", sum.inside},
                    {"judged", sum.judged}});
  }
  return list;
}

}  // namespace

Json validation_json(const Validation& validation) {
  Json rows = Json::array();
  for (const ValidationRow& row : validation.rows) {
    rows.push_back(row_json(row));
  }
  Json orders = Json::array();
  for (const ValidatedOrder& order : validation.orders) {
    orders.push_back({{"claim", order.claim},
                      {"metric", order.metric},
                      {"values", order.values},
                      {"holds", order.holds()}});
  }
  Json controls = Json::array();
  for (const NegativeControl& control : validation.controls) {
    controls.push_back({{"control", control.name},
                        {"mape", control.mean_absolute},
                        {"broken_mape", control.broken},
                        {"breaks", control.breaks()}});
  }
  Json bars = Json::array();
  for (const Bar& bar : validation.bars) {
    bars.push_back(
        {{"bar", bar.name}, {"rule", bar.rule}, {"value", bar.value}, {"holds", bar.holds}});
  }
  Json not_predicted = Json::array();
  for (const NotPredicted& one : validation.not_predicted) {
    not_predicted.push_back({{"what", one.what}, {"why", one.why}});
  }
  return {{"schema", "eplb.validate/1"},
          {"version", std::string(version())},
          {"rows", std::move(rows)},
          {"groups", groups_json(validation)},
          {"skipped", skipped_json(validation.skipped)},
          {"worst", predicted_json(validation.worst)},
          {"orders", std::move(orders)},
          {"controls", std::move(controls)},
          {"counting", counting_json(validation.counting)},
          {"not_predicted", std::move(not_predicted)},
          {"bars", std::move(bars)},
          {"verdict", validation.holds() ? "holds" : "fails"}};
}

void print_validation(const Validation& validation, std::ostream& out) {
  out << fmt::format("eplb {} validate\n\n", version());
  print_rows(validation, out);
  out << "\nErrors are relative, of shares the difference. Rows that use an input taken from "
         "published figures\ncount as fitted.\n\n";
  print_groups(validation, out);
  out << "\nThe expert kernel's worst rows with counts:\n";
  print_kernels(validation.worst, out);
  out << '\n';
  for (const ValidatedOrder& order : validation.orders) {
    out << fmt::format("{}: {}: {}", order.holds() ? "holds" : "FAILS", order.claim, order.metric);
    for (const double value : order.values) {
      out << fmt::format(" {:.4g}", value);
    }
    out << '\n';
  }
  out << '\n';
  for (const NegativeControl& control : validation.controls) {
    out << fmt::format("control, {}: mean error {} instead of {}{}\n", control.name,
                       percent(control.broken), percent(control.mean_absolute),
                       control.breaks() ? "" : ": DOES NOT BREAK THE FIT");
  }
  if (!validation.counting.empty()) {
    out << '\n';
    print_counting(validation.counting, out);
  }
  out << "\nNot predicted:\n";
  for (const NotPredicted& one : validation.not_predicted) {
    out << fmt::format("  {}: {}\n", one.what, one.why);
  }
  out << '\n';
  for (const Bar& bar : validation.bars) {
    out << fmt::format("{}: {}, {}: {:.3g}\n", bar.holds ? "holds" : "FAILS", bar.name, bar.rule,
                       bar.value);
  }
  out << fmt::format("verdict: {}\n", validation.holds() ? "holds" : "fails");
}

Json table_json(const TablePrediction& prediction) {
  const auto all =
      errors_of(prediction.rows, [](const formats::KernelRow& /*row*/) { return true; });
  Json by = Json::object();
  for (const auto& axis : errors_by(prediction.rows)) {
    for (const auto& entry : axis.second) {
      by[axis.first][entry.first] = errors_json(entry.second);
    }
  }
  return {{"schema", "eplb.validate.table/1"},
          {"version", std::string(version())},
          {"mape", all.mean_absolute},
          {"bias", all.bias},
          {"worst", predicted_json(worst_rows(prediction.rows, kWorstShown))},
          {"rows_predicted", all.rows},
          {"skipped", skipped_json(prediction.skipped)},
          {"by", std::move(by)},
          {"rows", predicted_json(prediction.rows)}};
}

void print_table_prediction(const TablePrediction& prediction, std::ostream& out) {
  out << fmt::format("eplb {} validate: a table of kernel times, nothing fitted to it\n\n",
                     version());
  Table table(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.add({"by", "", "rows", "mean error", "bias", "worst"});
  for (const auto& axis : errors_by(prediction.rows)) {
    for (const auto& entry : axis.second) {
      table.add({axis.first, entry.first, fmt::format("{}", entry.second.rows),
                 percent(entry.second.mean_absolute), signed_percent(entry.second.bias),
                 signed_percent(entry.second.worst)});
    }
  }
  table.print(out);
  out << "\nThe worst:\n";
  print_kernels(worst_rows(prediction.rows, kWorstShown), out);
  const auto all =
      errors_of(prediction.rows, [](const formats::KernelRow& /*row*/) { return true; });
  out << fmt::format("\n{} rows predicted: mean absolute error {}, bias {}; {} skipped\n", all.rows,
                     percent(all.mean_absolute), signed_percent(all.bias),
                     prediction.skipped.size());
  for (const SkippedKernel& one : prediction.skipped) {
    out << fmt::format("  skipped, line {}: {} EP{} {} {}: {}\n", one.row.line, one.row.device,
                       one.row.ranks, one.row.distribution, one.row.tokens_per_rank, one.why);
  }
}

}  // namespace eplb::cli
