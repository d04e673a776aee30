#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// What stood on a command's line, by option ("ranks") or positional argument ("CONFIG"). The
/// reading functions note what is wrong and go on, so that one run reports all of it; a command
/// must look at `report_problems` before it relies on a value.
class OptionValues {
 public:
  explicit OptionValues(std::string_view command) : command_(command) {}

  void add(const std::string& name, std::string value) {
    values_[name].push_back(std::move(value));
  }

  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }

  /// All values of an option that may be repeated, in order; the one value of any other.
  [[nodiscard]] std::span<const std::string> texts(const std::string& name) const;

  /// The value, none if the option is absent. An empty text is a problem.
  [[nodiscard]] std::optional<std::string> text(const std::string& name);

  /// As `text`; absence is a problem, and yields an empty text.
  [[nodiscard]] std::string required_text(const std::string& name);

  struct IntegerRule {
    std::int32_t min = 0;
    std::int32_t max = std::numeric_limits<std::int32_t>::max();
    std::optional<std::int32_t> fallback =
        std::nullopt;  ///< For an absent option; none where it is required.
  };

  /// The option as a whole decimal number. Anything else, or one out of range, is a problem and
  /// yields the rule's `min`.
  [[nodiscard]] std::int32_t integer(const std::string& name, const IntegerRule& rule);

  void note_problem(std::string problem) { problems_.push_back(std::move(problem)); }

  /// Prints every problem; whether there was any.
  [[nodiscard]] bool report_problems(const Streams& streams) const;

 private:
  std::string_view command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> problems_;
};

}  // namespace eplb::cli
