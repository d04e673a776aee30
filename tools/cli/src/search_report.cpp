#include "search_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "search_sentence.hpp"
#include "yaml_to_json.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;
using placement::SearchObjective;

std::string_view to_string(placement::SearchMethod method) {
  switch (method) {
    case placement::SearchMethod::kGrid:
      return "grid";
    case placement::SearchMethod::kRandom:
      return "random";
    case placement::SearchMethod::kSuccessiveHalving:
      return "successive_halving";
  }
  return "";
}

std::string_view unit_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kThroughput:
      return "tokens/s";
    case SearchObjective::kP99Step:
      return "ms";
    case SearchObjective::kMemory:
    case SearchObjective::kMovedBytes:
      return "bytes";
  }
  return "";
}

const placement::SearchOptions& options_of(const SearchReport& report) {
  return *report.config.search;
}

Json optional_number(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json settings_json(const std::vector<Setting>& settings) {
  Json json = Json::object();
  for (const Setting& setting : settings) {
    json[setting.key] = yaml_to_json(setting.value);
  }
  return json;
}

/// The place of a candidate in the list that is written, where the base is null.
Json place_json(std::size_t candidate) {
  return candidate == 0 ? Json(nullptr) : Json(candidate - 1);
}

Json objectives_json(const SearchReport& report, const std::vector<Advantage>& advantages) {
  Json json = Json::object();
  for (std::size_t index = 0; index < advantages.size(); ++index) {
    const Advantage& advantage = advantages[index];
    const std::optional<Gain>& gain = advantage.gain;
    json[std::string(to_string(options_of(report).objectives[index]))] = {
        {"mean", advantage.mean},
        {"gain", gain.has_value() ? Json(gain->mean) : Json(nullptr)},
        {"gain_low", gain.has_value() ? optional_number(gain->low()) : Json(nullptr)},
        {"gain_high", gain.has_value() ? optional_number(gain->high()) : Json(nullptr)},
        {"better", optional_number(advantage.better)}};
  }
  return json;
}

Json means_json(const SearchReport& report, const placement::Samples& samples) {
  if (samples.empty()) {
    return nullptr;
  }
  Json json = Json::object();
  const std::vector<double> means = placement::mean_values(samples);
  for (std::size_t index = 0; index < means.size(); ++index) {
    json[std::string(to_string(options_of(report).objectives[index]))] = means[index];
  }
  return json;
}

std::vector<Advantage> advantages_of(const SearchReport& report, const placement::Samples& base,
                                     const placement::Samples& samples) {
  const std::vector<SearchObjective>& objectives = options_of(report).objectives;
  std::vector<Advantage> advantages;
  advantages.reserve(objectives.size());
  for (std::size_t index = 0; index < objectives.size(); ++index) {
    advantages.push_back(advantage_of(base, samples, index, objectives[index]));
  }
  return advantages;
}

Json judged_json(const SearchReport& report, std::size_t judged) {
  const placement::SearchOutcome& outcome = report.outcome;
  const placement::Judged& result = outcome.candidates[judged];
  const bool is_last = result.rung + 1 == static_cast<std::int32_t>(outcome.rungs.size());
  const bool on_front =
      std::ranges::count(outcome.front, judged, &placement::FrontMember::candidate) > 0;
  std::string_view state = on_front ? "front" : (is_last ? "dominated" : "dropped");
  state = result.failure.empty() ? state : "failed";
  Json json{{"state", state}, {"rung", result.rung}};
  json["objectives"] =
      result.samples.empty()
          ? Json(nullptr)
          : objectives_json(
                report, advantages_of(report, outcome.base[static_cast<std::size_t>(result.rung)],
                                      result.samples));
  if (!result.failure.empty()) {
    json["reason"] = result.failure;
  }
  return json;
}

/// All but the base.
Json candidates_json(const SearchReport& report) {
  Json list = Json::array();
  const CandidateList& candidates = report.candidates;
  std::size_t judged = 1;
  for (std::size_t index = 1; index < candidates.all.size(); ++index) {
    const Candidate& candidate = candidates.all[index];
    Json json{{"settings", settings_json(candidate.settings)}};
    if (!candidate.problem.empty()) {
      json.update(Json{{"state", "invalid"}, {"reason", candidate.problem}});
    } else if (candidate.same_as.has_value()) {
      json.update(Json{{"state", "same"}, {"same_as", place_json(*candidate.same_as)}});
    } else {
      json.update(judged_json(report, judged++));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json front_json(const SearchReport& report, const std::vector<FrontRow>& front) {
  Json list = Json::array();
  for (const FrontRow& row : front) {
    list.push_back({{"candidate", place_json(row.candidate)},
                    {"settings", settings_json(report.candidates.all[row.candidate].settings)},
                    {"stays", optional_number(row.stays)},
                    {"objectives", objectives_json(report, row.advantages)}});
  }
  return list;
}

/// For each objective the place on the front of the best by it, the first of equals.
Json best_json(const SearchReport& report, const std::vector<FrontRow>& front) {
  Json json = Json::object();
  const std::vector<SearchObjective>& objectives = options_of(report).objectives;
  for (std::size_t index = 0; index < objectives.size(); ++index) {
    json[std::string(to_string(objectives[index]))] = best_row(report, front, index);
  }
  return json;
}

Json rungs_json(const SearchReport& report) {
  Json list = Json::array();
  const placement::SearchOutcome& outcome = report.outcome;
  for (std::size_t rung = 0; rung < outcome.rungs.size(); ++rung) {
    const auto reached =
        std::count_if(outcome.candidates.begin() + 1, outcome.candidates.end(),
                      [&](const placement::Judged& one) {
                        return !one.samples.empty() && one.rung >= static_cast<std::int32_t>(rung);
                      });
    list.push_back({{"steps", outcome.rungs[rung].steps},
                    {"seeds", outcome.rungs[rung].seed_count},
                    {"candidates", reached}});
  }
  return list;
}

std::vector<std::uint64_t> seeds_of(const SearchReport& report, std::int32_t first,
                                    std::int32_t count) {
  std::vector<std::uint64_t> seeds;
  seeds.reserve(static_cast<std::size_t>(count));
  for (std::int32_t index = first; index < first + count; ++index) {
    seeds.push_back(report.config.scenario.run.seed + static_cast<std::uint64_t>(index));
  }
  return seeds;
}

}  // namespace

std::string_view method_name(const SearchReport& report) {
  return to_string(options_of(report).method);
}

std::vector<FrontRow> front_rows(const SearchReport& report) {
  const placement::SearchOutcome& outcome = report.outcome;
  const bool is_confirmed = !outcome.base_confirmed.empty();
  std::vector<FrontRow> rows;
  rows.reserve(outcome.front.size());
  for (const placement::FrontMember& member : outcome.front) {
    const placement::Samples& base = is_confirmed ? outcome.base_confirmed : outcome.base.back();
    const placement::Samples& own =
        is_confirmed ? member.confirmed : outcome.candidates[member.candidate].samples;
    rows.push_back({.candidate = report.candidates.judged[member.candidate],
                    .stays = member.stays,
                    .advantages = advantages_of(report, base, own)});
  }
  return rows;
}

std::size_t best_row(const SearchReport& report, const std::vector<FrontRow>& front,
                     std::size_t objective) {
  const bool more = placement::more_is_better(options_of(report).objectives[objective]);
  const auto best = std::ranges::min_element(front, {}, [&](const FrontRow& row) {
    const double mean = row.advantages[objective].mean;
    return more ? -mean : mean;
  });
  return static_cast<std::size_t>(best - front.begin());
}

Json search_json(const SearchReport& report) {
  const placement::SearchOptions& options = options_of(report);
  const placement::SearchOutcome& outcome = report.outcome;
  const std::vector<FrontRow> front = front_rows(report);
  Json objectives = Json::array();
  for (const SearchObjective objective : options.objectives) {
    objectives.push_back({{"name", to_string(objective)},
                          {"unit", unit_of(objective)},
                          {"better", placement::more_is_better(objective) ? "more" : "less"}});
  }
  const std::int32_t seed_count = outcome.rungs.back().seed_count;
  Json json;
  json["schema"] = "eplb.search/1";
  json["version"] = std::string(version());
  // As text, since programs that read JSON numbers as doubles would round it.
  json["config_digest"] = digest_text(report.config.digest);
  json["method"] = to_string(options.method);
  json["objectives"] = std::move(objectives);
  json["space"] = report.candidates.space_size;
  json["rungs"] = rungs_json(report);
  json["seeds"] = seeds_of(report, 0, seed_count);
  json["confirm_seeds"] = seeds_of(report, seed_count, options.confirm_seeds);
  json["runs"] = report.run_count;
  json["base"] = {{"objectives", means_json(report, outcome.base.back())},
                  {"confirmed", means_json(report, outcome.base_confirmed)}};
  json["candidates"] = candidates_json(report);
  json["front"] = front_json(report, front);
  json["best"] = best_json(report, front);
  json["sentence"] = search_sentence(report, front);
  return json;
}

}  // namespace eplb::cli
