#include "overrides.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::size_t kPathWordsMax = 8;

constexpr std::string_view kWordCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";

}  // namespace

std::optional<std::vector<std::string>> split_key(std::string_view key) {
  std::vector<std::string> words;
  while (words.size() < kPathWordsMax) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const std::string_view word = key.substr(0, dot);
    if (word.empty() || word.find_first_not_of(kWordCharacters) != std::string_view::npos) {
      return std::nullopt;
    }
    words.emplace_back(word);
    if (dot == key.size()) {
      return words;
    }
    key.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

std::vector<Override> parse_overrides(std::span<const std::string> texts,
                                      const std::filesystem::path& directory, Reading& reading) {
  std::vector<Override> overrides;
  for (const std::string& text : texts) {
    const std::int32_t source = reading.add_source({.name = "--set " + printable(text),
                                                    .kind = SourceKind::kOverride,
                                                    .directory = directory});
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    auto path = split_key(key);
    if (equals == std::string::npos || !path.has_value()) {
      reading.complain({.source = source}, "", "must be key=value with a dotted key");
      continue;
    }
    const std::string_view value_text = std::string_view(text).substr(equals + 1);
    auto value = parse_yaml({.text = value_text, .source = source, .key_prefix = key}, reading);
    if (value.has_value()) {
      overrides.push_back({.path = std::move(*path), .value = std::move(*value)});
    }
  }
  return overrides;
}

void apply_override(Override one, Yaml& root, Reading& reading) {
  Yaml* yaml = &root;
  std::string key;
  for (const std::string& word : one.path) {
    if (yaml->kind == YamlKind::kNull) {
      yaml->kind = YamlKind::kMapping;
    }
    if (yaml->kind != YamlKind::kMapping) {
      if (reading.sound({key})) {
        reading.complain(one.value.at, key, "is not a section, got " + describe(*yaml));
      }
      return;
    }
    key.append(key.empty() ? "" : ".").append(word);
    Yaml* child = find(*yaml, word);
    if (child == nullptr) {
      yaml->children.push_back({.at = one.value.at, .key = word, .key_at = one.value.at});
      child = &yaml->children.back();
    }
    yaml = child;
  }
  one.value.key = std::move(yaml->key);
  one.value.key_at = one.value.at;
  *yaml = std::move(one.value);
}

}  // namespace eplb::config
