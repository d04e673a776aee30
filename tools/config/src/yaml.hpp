#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reading.hpp"

namespace eplb::config {

enum class YamlKind : std::uint8_t { kNull, kScalar, kList, kMapping };

/// A piece of YAML with its position. Keys keep their order, and none stands twice.
///
/// yaml-cpp's own nodes are not used: they accept duplicate keys, lose the difference between 8 and
/// "8", and share what an alias names, so that a walk of a small text may never end.
struct Yaml {
  YamlKind kind = YamlKind::kNull;
  Position at = {};
  bool quoted = false;    ///< A scalar in quotes or a block: text, whatever it looks like.
  std::string text = {};  ///< Of a scalar.
  std::vector<Yaml> children = {};  ///< Items of a list, or values of a mapping.
  std::string key = {};             ///< Of a mapping's child.
  Position key_at = {};
};

/// The child of a mapping with this key, or null; also null where `yaml` is no mapping.
[[nodiscard]] const Yaml* find(const Yaml& yaml, std::string_view key);
[[nodiscard]] Yaml* find(Yaml& yaml, std::string_view key);

/// `nothing`, `a list`, `a mapping`, or the scalar itself; text in quotes.
[[nodiscard]] std::string describe(const Yaml& yaml);

struct YamlText {
  std::string_view text;
  std::int32_t source = 0;           ///< Index that Reading::add_source gave.
  std::string_view key_prefix = {};  ///< Key that the document is the value of; empty for the root.
};

/// Parses one document. Everything wrong is in `reading`; none is returned if the text is no YAML,
/// is empty or too large. Anchors, aliases, tags and further documents are refused: a configuration
/// is read by people, and each of them hides what a key's value is.
[[nodiscard]] std::optional<Yaml> parse_yaml(const YamlText& input, Reading& reading);

}  // namespace eplb::config
