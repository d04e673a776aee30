#include "yaml.hpp"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "eplb/config/config.hpp"
#include "text_check.hpp"
#include "words.hpp"
#include "yaml_builder.hpp"

namespace eplb::config {
namespace {

Position position_of_byte(const YamlText& input, std::size_t offset) {
  const std::string_view before = input.text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line.
  return {.source = input.source,
          .line = 1 + static_cast<std::int32_t>(std::ranges::count(before, '\n')),
          .column = 1 + static_cast<std::int32_t>(offset - line_start)};
}

/// At the end of the text yaml-cpp does not know which bracket was left open; the builder does.
void complain_of_syntax(const YAML::Exception& error, const YamlText& input,
                        const YamlBuilder& builder, Reading& reading) {
  Position at{.source = input.source};
  if (!error.mark.is_null()) {
    at.line = error.mark.line + 1;
    at.column = error.mark.column + 1;
  }
  if (error.msg.starts_with("end of")) {
    at = builder.innermost_open().value_or(at);
  }
  reading.reject(at, input.key_prefix, "not valid YAML: " + error.msg);
}

}  // namespace

const Yaml* find(const Yaml& yaml, std::string_view key) {
  if (yaml.kind != YamlKind::kMapping) {
    return nullptr;
  }
  const auto found = std::ranges::find(yaml.children, key, &Yaml::key);
  return found == yaml.children.end() ? nullptr : &*found;
}

Yaml* find(Yaml& yaml, std::string_view key) {
  if (yaml.kind != YamlKind::kMapping) {
    return nullptr;
  }
  const auto found = std::ranges::find(yaml.children, key, &Yaml::key);
  return found == yaml.children.end() ? nullptr : &*found;
}

std::string describe(const Yaml& yaml) {
  switch (yaml.kind) {
    case YamlKind::kNull:
      return "nothing";
    case YamlKind::kScalar:
      return yaml.quoted ? "the text \"" + printable(yaml.text) + "\"" : printable(yaml.text);
    case YamlKind::kList:
      return "a list";
    case YamlKind::kMapping:
      return "a mapping";
  }
  return "nothing";
}

std::optional<Yaml> parse_yaml(const YamlText& input, Reading& reading) {
  const Position start{.source = input.source};
  if (input.text.size() > kConfigBytesMax) {
    reading.reject(start, input.key_prefix,
                   "the text has more than " + std::to_string(kConfigBytesMax) + " bytes");
    return std::nullopt;
  }
  if (const auto bad = find_bad_byte(input.text); bad.has_value()) {
    reading.reject(position_of_byte(input, bad->offset), input.key_prefix, bad->reason);
    return std::nullopt;
  }
  YamlBuilder builder(input, reading);
  try {
    std::istringstream stream{std::string(input.text)};
    YAML::Parser parser(stream);
    while (builder.document_count() < 2 && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    complain_of_syntax(error, input, builder, reading);
    return std::nullopt;
  } catch (const LimitExceeded& error) {
    reading.reject(error.at(), input.key_prefix, error.what());
    return std::nullopt;
  }
  return std::move(builder).root();
}

}  // namespace eplb::config
