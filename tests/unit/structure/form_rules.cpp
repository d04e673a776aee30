#include "form_rules.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace eplb::test {
namespace {

// Put together, so that no tool takes these two lines for what they name.
std::string open_end() {
  return std::string("TO") + "DO";
}

std::string silenced() {
  return std::string("NO") + "LINT";
}

/// Characters of a UTF-8 line: all bytes but those that continue a character.
std::int32_t width_of(std::string_view line) {
  return static_cast<std::int32_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Whether `word` stands in the line without what must follow it.
bool lacks(std::string_view line, std::string_view word, std::string_view follower) {
  const std::size_t found = line.find(word);
  return found != std::string_view::npos && !line.substr(found + word.size()).starts_with(follower);
}

/// A silenced warning is followed by its reason, as in `(check): reason` or `: reason`.
bool silences_without_reason(std::string_view line) {
  const std::size_t found = line.find(silenced());
  if (found == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = line.substr(found + silenced().size());
  const std::size_t colon = rest.find(": ");
  return !rest.starts_with("END") && (colon == std::string_view::npos || colon + 2 == rest.size());
}

/// CMake takes a semicolon for the end of a list's item, so ctest would run two names that match no
/// case and call both passed.
bool names_a_case_with_semicolon(std::string_view line) {
  return line.starts_with("TEST_CASE(") && line.find(';') != std::string_view::npos;
}

std::vector<std::string> objections(std::string_view line, bool is_code) {
  std::vector<std::string> messages;
  if (line.find('\t') != std::string_view::npos) {
    messages.emplace_back("a tab");
  }
  if (line.ends_with(' ') || line.ends_with('\r')) {
    messages.emplace_back("white space at the end");
  }
  if (!is_code) {
    return messages;
  }
  if (width_of(line) > kLineWidthMax) {
    messages.push_back(std::to_string(width_of(line)) + " characters wide");
  }
  if (lacks(line, open_end(), "(#")) {
    messages.emplace_back("an open end without the number of its issue");
  }
  if (silences_without_reason(line)) {
    messages.emplace_back("a warning silenced without a reason");
  }
  if (names_a_case_with_semicolon(line)) {
    messages.emplace_back("a semicolon in the name of a test");
  }
  return messages;
}

}  // namespace

std::vector<Finding> form_findings(const SourceFile& file) {
  std::vector<Finding> findings;
  const auto object = [&](std::size_t line, std::string message) {
    findings.push_back({file.path, static_cast<std::int32_t>(line), std::move(message)});
  };
  const bool is_code = is_cpp(file.path);
  for (std::size_t index = 0; index < file.lines.size(); ++index) {
    for (std::string& message : objections(file.lines[index], is_code)) {
      object(index + 1, std::move(message));
    }
  }
  if (!file.ends_with_newline) {
    object(file.lines.size(), "no newline at the end of the file");
  }
  if (!is_code) {
    return findings;
  }
  for (std::size_t index = 0; index < file.code.size(); ++index) {
    if (file.code[index].starts_with("#if 0")) {
      object(index + 1, "code that is switched off");
    }
  }
  if (file.lines.size() > static_cast<std::size_t>(kFileLinesMax)) {
    object(0, std::to_string(file.lines.size()) + " lines long");
  }
  if (is_header(file.path) && std::ranges::count(file.code, "#pragma once") != 1) {
    object(0, "#pragma once must stand in a header once");
  }
  return findings;
}

}  // namespace eplb::test
