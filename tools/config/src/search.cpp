#include "search.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "fields.hpp"
#include "overrides.hpp"
#include "rule.hpp"
#include "words.hpp"
#include "yaml_copy.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kAxes = "search.axes";
constexpr std::string_view kObjectives = "search.objectives";
constexpr std::string_view kMethod = "search.method";
constexpr std::string_view kCandidates = "search.budget.candidates";
constexpr std::string_view kRungs = "search.budget.rungs";
constexpr std::string_view kRungSteps = "search.budget.rung_steps";

constexpr std::size_t kAxesMax = 16;
constexpr std::size_t kValuesMax = 1000;

/// Sections that are an axis as they are, so that one may be exchanged as a whole.
constexpr auto kWholeSections = std::to_array<std::string_view>(
    {"model", "hardware", "parallel", "engine", "serving", "workload", "faults"});

/// Whether a search sets the key by itself, or it is no setting of a run.
bool is_no_axis(std::string_view key) {
  const std::string_view section = key.substr(0, key.find('.'));
  return key == "run" || key == "run.seed" || key == "run.steps" || section == "search" ||
         section == "program";
}

/// The key that a name among the axes stands for.
std::string key_of_axis(const std::string& name) {
  if (name == "redundancy") {
    return "eplb.num_redundant_experts";
  }
  if (name == "price") {
    return std::string(kPolicyOptionPrefix) + name;
  }
  const bool is_whole = std::ranges::count(kWholeSections, name) > 0;
  const bool is_short = name.find('.') == std::string::npos && !is_whole && !is_no_axis(name);
  return is_short ? "eplb." + name : name;
}

/// The shortest decimal number within rounding of `value`, so that 0.1 + 2 x 0.1 is 0.3.
std::string rounded_text(double value) {
  constexpr int kDigits = 12;
  std::array<char, 40> buffer{};
  char* const begin = buffer.data();
  const auto end =
      std::to_chars(begin, begin + buffer.size(), value, std::chars_format::general, kDigits);
  double rounded = value;
  std::from_chars(begin, end.ptr, rounded);
  return number_text(rounded);
}

/// The values of an axis that is written as a range; none after a rejection.
std::vector<Yaml> read_range(const std::string& key, const Yaml& yaml, Reading& reading) {
  const Section section{.key = key, .yaml = &yaml};
  reading.set_position(key, yaml.at);
  const auto range = read_fields<AxisRange>(section, axis_range_fields(), reading);
  if (!reading.sound({key, key + ".from", key + ".to", key + ".step", key + ".factor"})) {
    return {};
  }
  std::vector<Yaml> values;
  const auto add = [&](double value) {
    values.push_back({.kind = YamlKind::kScalar, .at = yaml.at, .text = rounded_text(value)});
  };
  // So that a sum that rounding has put just beyond still counts.
  constexpr double kRounding = 1e-9;
  if (range.step.has_value() == range.factor.has_value()) {
    reading.reject(yaml.at, key, "must have either step or factor");
  } else if (range.to < range.from || (range.factor.has_value() && range.from <= 0)) {
    reading.reject(yaml.at, key,
                   range.factor.has_value() ? "must begin above 0, and not beyond its end"
                                            : "must not begin beyond its end");
  } else if (range.step.has_value()) {
    const double last = range.to + kRounding * *range.step;
    for (double n = 0; range.from + n * *range.step <= last && values.size() <= kValuesMax; ++n) {
      add(range.from + n * *range.step);
    }
  } else {
    for (double value = range.from;
         value <= range.to * (1 + kRounding) && values.size() <= kValuesMax;
         value *= *range.factor) {
      add(value);
    }
  }
  return values;
}

/// The value as YAML on one line, as it may stand in a list.
// NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the text that it was read from.
std::string flow_text(const Yaml& yaml) {
  switch (yaml.kind) {
    case YamlKind::kNull:
      return "~";
    case YamlKind::kScalar: {
      double number = 0;
      const bool is_bare = yaml.text == "true" || yaml.text == "false" ||
                           !read_scalar(yaml, {.min = -1e300, .max = 1e300}, number).has_value();
      return is_bare && !yaml.quoted ? yaml.text : value_text(yaml.text);
    }
    default:
      break;
  }
  const bool is_list = yaml.kind == YamlKind::kList;
  std::string text;
  for (const Yaml& child : yaml.children) {
    text += (text.empty() ? "" : ", ") + (is_list ? "" : value_text(child.key) + ": ") +
            flow_text(child);
  }
  return is_list ? "[" + text + "]" : "{" + text + "}";
}

std::vector<Yaml> read_values(const std::string& key, const Yaml& yaml, Reading& reading) {
  if (yaml.kind == YamlKind::kMapping) {
    return read_range(key, yaml, reading);
  }
  if (yaml.kind != YamlKind::kList || yaml.children.empty()) {
    reading.reject(
        yaml.at, key,
        "must be a list of at least one value, or a range with from, to and step or factor, got " +
            (yaml.kind == YamlKind::kList ? "an empty list" : describe(yaml)));
    return {};
  }
  return copies_of(yaml.children);
}

void check_values(const std::string& key, const WrittenAxis& axis, Reading& reading) {
  const std::vector<Yaml>& values = axis.values;
  const bool is_option = axis.key.starts_with(kPolicyOptionPrefix);
  if (values.size() > kValuesMax) {
    reading.reject(values.front().at, key,
                   "must have at most " + std::to_string(kValuesMax) + " values");
    return;
  }
  std::vector<std::string> texts;
  for (const Yaml& value : values) {
    texts.push_back(flow_text(value));
    if (value.kind == YamlKind::kNull) {
      reading.reject(value.at, key, "must not be empty");
    } else if (is_option && value.kind != YamlKind::kScalar) {
      reading.reject(value.at, key, "must be a number or a word, got " + describe(value));
    } else if (std::count(texts.begin(), texts.end(), texts.back()) > 1) {
      reading.reject(value.at, key, "has " + printable(texts.back()) + " twice");
    }
  }
}

std::vector<placement::SearchObjective> read_objectives(const Section& search, Reading& reading) {
  const Yaml* list = search.yaml == nullptr ? nullptr : find(*search.yaml, "objectives");
  std::vector<placement::SearchObjective> objectives = placement::SearchOptions{}.objectives;
  if (list == nullptr || !reading.sound({kObjectives})) {
    return objectives;
  }
  const std::string allowed = join(enum_words<placement::SearchObjective>());
  if (list->kind != YamlKind::kList || list->children.empty()) {
    reading.reject(list->at, kObjectives, "must be a list of some of " + allowed);
    return objectives;
  }
  objectives.clear();
  for (const Yaml& item : list->children) {
    placement::SearchObjective objective{};
    if (ScalarError error = read_scalar(item, {}, objective); error.has_value()) {
      reading.reject(item.at, kObjectives, *error);
    } else if (std::ranges::count(objectives, objective) > 0) {
      reading.reject(item.at, kObjectives, "has " + item.text + " twice");
    } else {
      objectives.push_back(objective);
    }
  }
  return objectives;
}

void check_rung_steps(const placement::SearchOptions& search, const sim::RunOptions& run,
                      Reading& reading) {
  const std::vector<std::int32_t>& steps = search.rung_steps;
  if (steps.empty()) {
    return;
  }
  rule(steps.size() != static_cast<std::size_t>(search.rungs), {kRungSteps, kRungs},
       "must have a number for each of " + std::to_string(search.rungs) + " rungs, has " +
           std::to_string(steps.size()),
       reading);
  rule(!std::ranges::is_sorted(steps), {kRungSteps}, "must not fall from rung to rung", reading);
  rule(steps.front() <= run.warmup_steps, {kRungSteps, "run.warmup_steps"},
       "must be above run.warmup_steps (" + std::to_string(run.warmup_steps) + ")", reading);
}

}  // namespace

std::vector<WrittenAxis> read_axes(const Section& search, Reading& reading) {
  std::vector<WrittenAxis> axes;
  const Yaml* mapping = search.yaml == nullptr ? nullptr : find(*search.yaml, "axes");
  if (mapping == nullptr) {
    return axes;
  }
  if (mapping->kind != YamlKind::kMapping || mapping->children.empty() ||
      mapping->children.size() > kAxesMax) {
    reading.reject(mapping->at, kAxes,
                   "must be a mapping from 1 to " + std::to_string(kAxesMax) +
                       " keys to their values, got " + describe(*mapping));
    return axes;
  }
  for (const Yaml& child : mapping->children) {
    const std::string name = std::string(kAxes) + "." + child.key;
    WrittenAxis axis{
        .name = child.key, .key = key_of_axis(child.key), .at = child.key_at, .values = {}};
    if (is_no_axis(axis.key)) {
      reading.reject(child.key_at, name,
                     "is no axis: seeds and steps are of search.budget and of run alone");
    } else if (axis.key.ends_with(".kind")) {
      // The keys beside it belong to one kind, so that no other would load.
      reading.reject(
          child.key_at, name,
          "is no axis by itself: vary its whole section, as in workload.routing: [{kind: "
          "uniform}, {kind: zipf}]");
    } else if (!split_key(axis.key).has_value()) {
      reading.reject(child.key_at, name, "must be a dotted key");
    } else if (std::ranges::count(axes, axis.key, &WrittenAxis::key) > 0) {
      reading.reject(child.key_at, name, "is " + axis.key + ", which is an axis already");
    } else {
      axis.values = read_values(name, child, reading);
      check_values(name, axis, reading);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

placement::SearchOptions read_search(const Section& search, const std::vector<WrittenAxis>& axes,
                                     Reading& reading) {
  auto options = read_fields<placement::SearchOptions>(search, search_fields(), reading);
  options.objectives = read_objectives(search, reading);
  for (const WrittenAxis& axis : axes) {
    placement::SearchAxis known{.key = axis.key, .values = {}};
    for (const Yaml& value : axis.values) {
      known.values.push_back(flow_text(value));
    }
    options.axes.push_back(std::move(known));
  }
  return options;
}

void check_search(const placement::SearchOptions& search, const sim::RunOptions& run,
                  Reading& reading) {
  const bool is_grid = search.method == placement::SearchMethod::kGrid;
  rule(is_grid && search.candidates.has_value(), {kCandidates, kMethod},
       "is for random and successive_halving: a grid takes every setting", reading);
  const std::int64_t size = placement::space_size(search.axes);
  rule(size > placement::kSearchCandidatesMax && !search.candidates.has_value(),
       {kAxes, kMethod, kCandidates},
       "span " + std::to_string(size) + " settings, of which at most " +
           std::to_string(placement::kSearchCandidatesMax) +
           " can be judged: take fewer values, or method random with budget.candidates",
       reading);
  if (search.method == placement::SearchMethod::kSuccessiveHalving) {
    check_rung_steps(search, run, reading);
  }
}

}  // namespace eplb::config
