#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "search_report.hpp"
#include "search_sentence.hpp"

namespace eplb::cli {
namespace {

using placement::SearchObjective;
using Align = Table::Align;

constexpr double kBytesPerGb = 1e9;

std::string_view heading_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kThroughput:
      return "tokens/s";
    case SearchObjective::kP99Step:
      return "p99 step, ms";
    case SearchObjective::kMemory:
      return "memory, GB";
    case SearchObjective::kMovedBytes:
      return "moved, GB";
  }
  return "";
}

std::string value_text(double value, SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kThroughput:
      return fmt::format("{:.0f}", value);
    case SearchObjective::kP99Step:
      return fmt::format("{:.3f}", value);
    case SearchObjective::kMemory:
    case SearchObjective::kMovedBytes:
      return fmt::format("{:.3f}", value / kBytesPerGb);
  }
  return "";
}

const std::vector<SearchObjective>& objectives_of(const SearchReport& report) {
  return report.config.search->objectives;
}

std::string seeds_text(std::size_t count) {
  return count == 1 ? "1 seed" : fmt::format("{} seeds", count);
}

void print_head(const SearchReport& report, std::ostream& out) {
  const placement::SearchOptions& options = *report.config.search;
  out << fmt::format("eplb {} search {}, config {}\n", version(), report.config_file,
                     digest_text(report.config.digest));
  std::string axes;
  for (const placement::SearchAxis& axis : options.axes) {
    axes += fmt::format("{}{} ({})", axes.empty() ? "" : ", ", axis.key, axis.values.size());
  }
  out << fmt::format("{}: {} of {} settings: {}\n", method_name(report),
                     report.candidates.all.size() - 1, report.candidates.space_size, axes);
}

/// How many settings came how far.
void print_counts(const SearchReport& report, std::ostream& out) {
  std::size_t invalid = 0;
  std::size_t same = 0;
  for (const Candidate& candidate : report.candidates.all) {
    invalid += candidate.problem.empty() ? 0U : 1U;
    same += candidate.same_as.has_value() ? 1U : 0U;
  }
  std::size_t failed = 0;
  for (const placement::Judged& judged : report.outcome.candidates) {
    failed += judged.failure.empty() ? 0U : 1U;
  }
  out << fmt::format(
      "{} were judged beside the base, {} of them failed; {} the same as another, {} no legal "
      "configuration\n",
      report.candidates.judged.size() - 1, failed, same, invalid);
  const placement::SearchOutcome& outcome = report.outcome;
  for (std::size_t rung = 0; rung < outcome.rungs.size(); ++rung) {
    const auto reached = std::count_if(
        outcome.candidates.begin() + 1, outcome.candidates.end(), [&](const auto& judged) {
          return !judged.samples.empty() && judged.rung >= static_cast<std::int32_t>(rung);
        });
    out << fmt::format("{} settings on {} of {} steps\n", reached,
                       seeds_text(static_cast<std::size_t>(outcome.rungs[rung].seed_count)),
                       outcome.rungs[rung].steps);
  }
  out << fmt::format("{} runs in all\n\n", report.run_count);
}

/// Each reason once, with the first setting that has it and how many do; the most frequent first.
void print_reasons(const SearchReport& report, std::ostream& out) {
  constexpr std::size_t kShown = 5;
  std::map<std::string, std::vector<std::size_t>> settings;
  const CandidateList& candidates = report.candidates;
  for (std::size_t index = 0; index < candidates.all.size(); ++index) {
    if (!candidates.all[index].problem.empty()) {
      settings[candidates.all[index].problem].push_back(index);
    }
  }
  for (std::size_t judged = 0; judged < report.outcome.candidates.size(); ++judged) {
    const std::string& failure = report.outcome.candidates[judged].failure;
    if (!failure.empty()) {
      settings[failure].push_back(candidates.judged[judged]);
    }
  }
  std::vector<std::pair<std::string, std::vector<std::size_t>>> reasons(settings.begin(),
                                                                        settings.end());
  std::ranges::stable_sort(reasons, std::ranges::greater(),
                           [](const auto& reason) { return reason.second.size(); });
  for (std::size_t index = 0; index < std::min(reasons.size(), kShown); ++index) {
    const auto& [reason, who] = reasons[index];
    out << fmt::format("{}{}: {}\n", to_string(candidates.all[who.front()].settings),
                       who.size() > 1 ? fmt::format(" and {} more", who.size() - 1) : "", reason);
  }
  if (reasons.size() > kShown) {
    out << fmt::format("and {} more reasons\n", reasons.size() - kShown);
  }
  if (!reasons.empty()) {
    out << '\n';
  }
}

void print_values(const SearchReport& report, const std::vector<FrontRow>& front,
                  std::ostream& out) {
  const std::vector<SearchObjective>& objectives = objectives_of(report);
  std::vector<Align> columns(objectives.size() + 3, Align::kRight);
  columns[1] = Align::kLeft;
  Table table(columns);
  std::vector<std::string> head{"", "front"};
  for (const SearchObjective objective : objectives) {
    head.emplace_back(heading_of(objective));
  }
  head.emplace_back("stays");
  table.add(std::move(head));
  for (std::size_t row = 0; row < front.size(); ++row) {
    std::vector<std::string> cells{fmt::format("{}", row + 1),
                                   to_string(report.candidates.all[front[row].candidate].settings)};
    for (std::size_t index = 0; index < objectives.size(); ++index) {
      cells.push_back(value_text(front[row].advantages[index].mean, objectives[index]));
    }
    cells.push_back(front[row].stays.has_value() ? fmt::format("{:.0f} %", 100 * *front[row].stays)
                                                 : "");
    table.add(std::move(cells));
  }
  const bool has_base =
      std::ranges::any_of(front, [](const FrontRow& row) { return row.candidate == 0; });
  if (!has_base) {
    const placement::SearchOutcome& outcome = report.outcome;
    const std::vector<double> means = placement::mean_values(
        outcome.base_confirmed.empty() ? outcome.base.back() : outcome.base_confirmed);
    std::vector<std::string> cells{"", "base, dominated"};
    for (std::size_t index = 0; index < objectives.size(); ++index) {
      cells.push_back(value_text(means[index], objectives[index]));
    }
    table.add(std::move(cells));
  }
  table.print(out);
}

void print_changes(const SearchReport& report, const std::vector<FrontRow>& front,
                   std::ostream& out) {
  const std::vector<SearchObjective>& objectives = objectives_of(report);
  Table table(std::vector<Align>(2 * objectives.size() + 1, Align::kRight));
  std::vector<std::string> head{""};
  for (const SearchObjective objective : objectives) {
    head.emplace_back(to_string(objective));
    head.emplace_back("better");
  }
  table.add(std::move(head));
  for (std::size_t row = 0; row < front.size(); ++row) {
    std::vector<std::string> cells{fmt::format("{}", row + 1)};
    for (std::size_t index = 0; index < objectives.size(); ++index) {
      const Advantage& advantage = front[row].advantages[index];
      const bool is_base = front[row].candidate == 0;
      cells.push_back(is_base ? "base" : change_text(advantage, objectives[index]));
      cells.push_back(advantage.better.has_value() && !is_base ? probability_text(*advantage.better)
                                                               : "");
    }
    table.add(std::move(cells));
  }
  table.print(out);
}

void print_notes(const SearchReport& report, std::ostream& out) {
  const std::size_t fresh = report.outcome.base_confirmed.size();
  const std::size_t chosen = report.outcome.base.back().size();
  out << fmt::format(
      "\nfigures: means of {}\nchanges: against the base on the same seeds, with the 95 % interval "
      "by Student's t; better: probability that it is\nstays: of the fronts without one seed each, "
      "the share that has it\n",
      fresh > 0 ? fmt::format("{} that had no part in choosing the front", seeds_text(fresh))
                : fmt::format("the {} that chose the front", seeds_text(chosen)));
}

void print_best(const SearchReport& report, const std::vector<FrontRow>& front, std::ostream& out) {
  std::string text;
  const std::vector<SearchObjective>& objectives = objectives_of(report);
  for (std::size_t index = 0; index < objectives.size(); ++index) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(objectives[index]),
                        best_row(report, front, index) + 1);
  }
  out << fmt::format("best by {}\n", text);
}

}  // namespace

void print_search(const SearchReport& report, std::ostream& out) {
  const std::vector<FrontRow> front = front_rows(report);
  print_head(report, out);
  print_counts(report, out);
  print_reasons(report, out);
  print_values(report, front, out);
  out << '\n';
  print_changes(report, front, out);
  print_notes(report, out);
  print_best(report, front, out);
  out << '\n' << search_sentence(report, front) << '\n';
}

}  // namespace eplb::cli
