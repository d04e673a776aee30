#include "search_sentence.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace eplb::cli {
namespace {

using placement::SearchObjective;

/// Below or above these, the 95 % interval does not hold 0.
constexpr double kSurelyWorse = 0.025;
constexpr double kSurelyBetter = 0.975;

bool is_surely_better(const Advantage& advantage) {
  return advantage.better.value_or(0.5) >= kSurelyBetter;
}

bool is_surely_worse(const Advantage& advantage) {
  return advantage.better.value_or(0.5) <= kSurelyWorse;
}

/// Surely better in something, and surely worse in nothing.
bool is_free(const FrontRow& row) {
  return std::ranges::any_of(row.advantages, is_surely_better) &&
         std::ranges::none_of(row.advantages, is_surely_worse);
}

std::string_view words_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kThroughput:
      return "tokens/s";
    case SearchObjective::kP99Step:
      return "p99 step";
    case SearchObjective::kMemory:
      return "memory";
    case SearchObjective::kMovedBytes:
      return "moved bytes";
  }
  return "";
}

std::string seeds_text(const SearchReport& report) {
  const std::size_t fresh = report.outcome.base_confirmed.size();
  const std::size_t count = fresh > 0 ? fresh : report.outcome.base.back().size();
  return fmt::format("{} {}", count,
                     fresh > 0 ? (count == 1 ? "fresh seed" : "fresh seeds")
                               : (count == 1 ? "seed that chose it" : "seeds that chose it"));
}

/// The changes by all objectives from `first` on.
std::string changes_text(const SearchReport& report, const FrontRow& row, std::size_t first) {
  const std::vector<SearchObjective>& objectives = report.config.search->objectives;
  std::string text;
  for (std::size_t index = first; index < objectives.size(); ++index) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words_of(objectives[index]),
                        change_text(row.advantages[index], objectives[index]));
  }
  return text;
}

std::string sureness(const Advantage& advantage) {
  return advantage.better.has_value() ? probability_text(*advantage.better) + " sure"
                                      : "one seed does not say how sure";
}

const FrontRow* first_other(const std::vector<FrontRow>& front) {
  const auto found =
      std::ranges::find_if(front, [](const FrontRow& row) { return row.candidate != 0; });
  return found == front.end() ? nullptr : &*found;
}

const FrontRow* first_free(const std::vector<FrontRow>& front) {
  const auto found = std::ranges::find_if(front, is_free);
  return found == front.end() ? nullptr : &*found;
}

}  // namespace

std::string probability_text(double probability) {
  constexpr double kNearlySure = 0.9995;
  if (probability > kNearlySure && probability < 1) {
    return "over 99.9 %";
  }
  if (probability < 1 - kNearlySure && probability > 0) {
    return "below 0.1 %";
  }
  return fmt::format("{:.1f} %", 100 * probability);
}

std::string change_text(const Advantage& advantage, SearchObjective objective) {
  if (!advantage.gain.has_value()) {
    return advantage.better == 0.5 ? "=" : "(base 0)";
  }
  const Gain& gain = *advantage.gain;
  if (gain.mean == 0 && gain.half_width.value_or(0) == 0) {
    return "=";
  }
  // Enough digits that a small but sure change is none of +0.00.
  const double size = 100 * std::max(std::abs(gain.mean), gain.half_width.value_or(0));
  const int decimals = size < 0.1 ? 4 : (size < 10 ? 2 : 1);
  const double sign = placement::more_is_better(objective) ? 100 : -100;
  return gain.half_width.has_value() && *gain.half_width > 0
             ? fmt::format("{:+.{}f} +- {:.{}f} %", sign * gain.mean, decimals,
                           100 * *gain.half_width, decimals)
             : fmt::format("{:+.{}f} %", sign * gain.mean, decimals);
}

std::string search_sentence(const SearchReport& report, const std::vector<FrontRow>& front) {
  const SearchObjective objective = report.config.search->objectives.front();
  const FrontRow* const best = first_other(front);
  if (best == nullptr) {
    return fmt::format(
        "No setting is better than the base in anything: of {} that were judged, it "
        "alone is on the front.",
        report.candidates.judged.size() - 1);
  }
  const auto name = [&](const FrontRow& row) {
    return cli::to_string(report.candidates.all[row.candidate].settings);
  };
  const Advantage& advantage = best->advantages.front();
  std::string verdict = "is not told apart from the base";
  if (is_surely_better(advantage)) {
    verdict = "is better than the base";
  } else if (is_surely_worse(advantage)) {
    verdict = "is worse than the base, and still the best other setting,";
  }
  std::string text =
      fmt::format("{} {} by {}: {} ({}, {})", name(*best), verdict, words_of(objective),
                  change_text(advantage, objective), sureness(advantage), seeds_text(report));
  if (best->advantages.size() > 1) {
    text += fmt::format("; {}", changes_text(report, *best, 1));
  }
  const FrontRow* const free = first_free(front);
  if (free == best) {
    return text + ". It is surely worse in nothing.";
  }
  text += '.';
  if (free != nullptr) {
    text += fmt::format(" Surely better in something and surely worse in nothing: {}: {}.",
                        name(*free), changes_text(report, *free, 0));
  }
  return text;
}

}  // namespace eplb::cli
