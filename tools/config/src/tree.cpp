#include "tree.hpp"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "eplb/config/config.hpp"
#include "text_check.hpp"
#include "tree_builder.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

Position position_of_byte(const YamlSource& yaml, std::size_t offset) {
  const std::string_view before = yaml.text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line.
  return {.source = yaml.source,
          .line = 1 + static_cast<std::int32_t>(std::ranges::count(before, '\n')),
          .column = 1 + static_cast<std::int32_t>(offset - line_start)};
}

/// yaml-cpp gives up far below its own limit of depth only where the builder has complained, and at
/// the end of the text it does not know which bracket was left open; the builder does.
void complain_of_syntax(const YAML::Exception& error, const YamlSource& yaml,
                        const TreeBuilder& builder, Reading& reading) {
  if (builder.too_deep()) {
    return;
  }
  Position at{.source = yaml.source};
  if (!error.mark.is_null()) {
    at.line = error.mark.line + 1;
    at.column = error.mark.column + 1;
  }
  if (error.msg.starts_with("end of")) {
    at = builder.innermost_open().value_or(at);
  }
  reading.reject(at, yaml.key_prefix, "not valid YAML: " + error.msg);
}

}  // namespace

const Entry* find(const Node& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.entries, key, &Entry::key);
  return found == mapping.entries.end() ? nullptr : &*found;
}

Entry* find(Node& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.entries, key, &Entry::key);
  return found == mapping.entries.end() ? nullptr : &*found;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull:
      return "nothing";
    case NodeKind::kScalar:
      return node.quoted ? "the text \"" + printable(node.text) + "\"" : printable(node.text);
    case NodeKind::kList:
      return "a list";
    case NodeKind::kMapping:
      return "a mapping";
  }
  return "nothing";
}

std::optional<Node> parse_yaml(const YamlSource& yaml, Reading& reading) {
  const Position start{.source = yaml.source};
  if (yaml.text.size() > kConfigBytesMax) {
    reading.reject(start, yaml.key_prefix,
                   "the text has more than " + std::to_string(kConfigBytesMax) + " bytes");
    return std::nullopt;
  }
  if (const auto bad = find_bad_byte(yaml.text); bad.has_value()) {
    reading.reject(position_of_byte(yaml, bad->offset), yaml.key_prefix, bad->reason);
    return std::nullopt;
  }
  TreeBuilder builder(yaml, reading);
  try {
    std::istringstream stream{std::string(yaml.text)};
    YAML::Parser parser(stream);
    while (builder.document_count() < 2 && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    complain_of_syntax(error, yaml, builder, reading);
    return std::nullopt;
  }
  return std::move(builder).root();
}

}  // namespace eplb::config
