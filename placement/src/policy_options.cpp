#include "eplb/placement/policy_options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace eplb::placement {
namespace {

/// The whole of `text` as a number; from_chars takes no spaces, no plus sign, no locale.
template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string shortest(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

Result<PolicyOptions> PolicyOptions::parse(std::string_view policy, std::string_view text) {
  PolicyOptions options(policy);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(ErrorCode::kInvalidArgument, "policy '" + std::string(policy) +
                                                   "': options are key=value, got '" +
                                                   std::string(part) + "'");
    }
    const std::string key(part.substr(0, equals));
    const bool twice = std::ranges::any_of(options.unread_,
                                           [&](const auto& option) { return option.first == key; });
    if (twice) {
      return fail(ErrorCode::kInvalidArgument, "policy '" + std::string(policy) + "': option '" +
                                                   key + "' is given more than once");
    }
    options.unread_.emplace_back(key, part.substr(equals + 1));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return options;
}

std::optional<std::string> PolicyOptions::take(std::string_view key) {
  known_.emplace_back(key);
  for (auto option = unread_.begin(); option != unread_.end(); ++option) {
    if (option->first == key) {
      std::string value = std::move(option->second);
      unread_.erase(option);
      return value;
    }
  }
  return std::nullopt;
}

void PolicyOptions::note_problem(std::string_view key, std::string_view value,
                                 const std::string& rule) {
  if (problem_.empty()) {
    problem_ =
        "option '" + std::string(key) + "' must be " + rule + ", got '" + std::string(value) + "'";
  }
}

void PolicyOptions::read_number(std::string_view key, double min, double max, double& target) {
  const auto value = take(key);
  double number = 0;
  if (!value.has_value()) {
    return;
  }
  // The comparison is false for what is not a number.
  if (parse_number(*value, number) && min <= number && number <= max) {
    target = number;
  } else {
    note_problem(key, *value, "a number from " + shortest(min) + " to " + shortest(max));
  }
}

void PolicyOptions::read_count(std::string_view key, std::int32_t min, std::int32_t max,
                               std::int32_t& target) {
  const auto value = take(key);
  std::int32_t number = 0;
  if (!value.has_value()) {
    return;
  }
  if (parse_number(*value, number) && min <= number && number <= max) {
    target = number;
  } else {
    note_problem(key, *value,
                 "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
}

void PolicyOptions::read_word(std::string_view key, std::span<const std::string_view> words,
                              std::size_t& target) {
  const auto value = take(key);
  if (!value.has_value()) {
    return;
  }
  const auto found = std::ranges::find(words, *value);
  if (found != words.end()) {
    target = static_cast<std::size_t>(found - words.begin());
    return;
  }
  std::string rule = "one of";
  for (const std::string_view word : words) {
    rule += (word == words.front() ? " " : ", ") + std::string(word);
  }
  note_problem(key, *value, rule);
}

Result<void> PolicyOptions::finish() const {
  std::string problem = problem_;
  if (problem.empty() && !unread_.empty()) {
    problem = "unknown option '" + unread_.front().first + "', ";
    problem += known_.empty() ? "it takes none" : "allowed are";
    for (const std::string& key : known_) {
      problem += (key == known_.front() ? " " : ", ") + key;
    }
  }
  if (!problem.empty()) {
    return fail(ErrorCode::kInvalidArgument, "policy '" + policy_ + "': " + problem);
  }
  return {};
}

}  // namespace eplb::placement
