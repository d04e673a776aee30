#include "eplb/cli/option_values.hpp"

#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <ostream>
#include <system_error>

#include "eplb/cli/command_line.hpp"

namespace eplb::cli {
namespace {

/// An option as a person writes it; positional arguments have names in capitals.
std::string written(const std::string& name) {
  const bool is_positional = !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
  return is_positional ? name : fmt::format("--{}", name);
}

}  // namespace

std::span<const std::string> OptionValues::texts(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::span<const std::string>{} : std::span(found->second);
}

std::optional<std::string> OptionValues::text(const std::string& name) {
  const auto given = texts(name);
  if (given.empty()) {
    return std::nullopt;
  }
  if (given.front().empty()) {
    note_problem(fmt::format("{}: must not be empty", written(name)));
  }
  return given.front();
}

std::string OptionValues::required_text(const std::string& name) {
  if (!has(name)) {
    note_problem(fmt::format("{}: is missing", written(name)));
  }
  return text(name).value_or("");
}

std::int32_t OptionValues::integer(const std::string& name, const IntegerRule& rule) {
  const auto given = texts(name);
  if (given.empty()) {
    if (!rule.fallback.has_value()) {
      note_problem(fmt::format("{}: is missing", written(name)));
    }
    return rule.fallback.value_or(rule.min);
  }
  const std::string& text = given.front();
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || value < rule.min || value > rule.max) {
    note_problem(fmt::format("{}: must be a whole number from {} to {}, got '{}'", written(name),
                             rule.min, rule.max, text));
    return rule.min;
  }
  return value;
}

bool OptionValues::report_problems(const Streams& streams) const {
  for (const std::string& problem : problems_) {
    print_error(streams, command_, problem);
  }
  if (!problems_.empty()) {
    streams.err << fmt::format("See 'eplb {} --help'.\n", command_);
  }
  return !problems_.empty();
}

}  // namespace eplb::cli
