#include "section.hpp"

#include <algorithm>

#include "words.hpp"

namespace eplb::config {
namespace {

/// `keys` that start with `prefix`, without it and only up to their next dot, each once.
std::vector<std::string_view> next_words(std::span<const std::string_view> keys,
                                         std::string_view prefix) {
  std::vector<std::string_view> words;
  for (const std::string_view key : keys) {
    if (key.starts_with(prefix)) {
      const std::string_view rest = key.substr(prefix.size());
      const std::string_view word = rest.substr(0, rest.find('.'));
      if (std::ranges::find(words, word) == words.end()) {
        words.push_back(word);
      }
    }
  }
  return words;
}

void complain_of_unknown(const Section& section, const std::string& key, const Yaml& value,
                         std::span<const std::string_view> allowed, Reading& reading) {
  std::string message = unknown("key", value.key, allowed);
  const auto foreign = std::ranges::find(section.foreign, key, &ForeignKey::key);
  if (foreign != section.foreign.end()) {
    message = "belongs to the kind " + std::string(foreign->kind) + ", not to " +
              std::string(section.kind) + ", which takes " + join(allowed);
  }
  reading.complain(value.key_at, section.key_of(key), message);
}

/// A mapping of the section, or below it where keys have a dot.
struct Level {
  const Yaml* mapping;
  std::string prefix;  ///< Of its keys within the section: empty, or a word and a dot.
};

/// Sorts the children of `level` into `values`; those that are levels of their own into `below`.
void match(const Section& section, const Level& level, std::span<const std::string_view> keys,
           std::vector<const Yaml*>& values, std::vector<Level>& below, Reading& reading) {
  const std::vector<std::string_view> words = next_words(keys, level.prefix);
  for (const Yaml& child : level.mapping->children) {
    const std::string key = level.prefix + child.key;
    const bool known = std::ranges::find(words, child.key) != words.end();
    const auto leaf = std::ranges::find(keys, key);
    if (!known) {
      complain_of_unknown(section, key, child, words, reading);
    } else if (leaf != keys.end()) {
      values[static_cast<std::size_t>(leaf - keys.begin())] = &child;
      reading.set_position(section.key_of(key), child.at);
    } else if (child.kind == YamlKind::kMapping) {
      below.push_back({.mapping = &child, .prefix = key + "."});
    } else if (reading.sound({section.key_of(key)})) {
      reading.reject(
          child.at, section.key_of(key),
          "must be a mapping of " + join(next_words(keys, key + ".")) + ", got " + describe(child));
    }
  }
}

}  // namespace

Section subsection(const Section& parent, std::string_view key, Reading& reading) {
  Section section{.key = parent.key_of(key)};
  section.yaml = parent.yaml == nullptr ? nullptr : find(*parent.yaml, key);
  if (section.yaml != nullptr) {
    reading.set_position(section.key, section.yaml->at);
  }
  return section;
}

std::vector<const Yaml*> values_of(const Section& section, std::span<const std::string_view> keys,
                                   Reading& reading) {
  std::vector<const Yaml*> values(keys.size(), nullptr);
  if (section.yaml == nullptr || !reading.sound({section.key})) {
    return values;
  }
  if (section.yaml->kind != YamlKind::kMapping) {
    reading.reject(
        section.yaml->at, section.key,
        "must be a mapping of " + join(next_words(keys, "")) + ", got " + describe(*section.yaml));
    return values;
  }
  std::vector<Level> levels = {{.mapping = section.yaml, .prefix = ""}};
  for (std::size_t next = 0; next < levels.size(); ++next) {
    const Level level = levels[next];
    match(section, level, keys, values, levels, reading);
  }
  return values;
}

}  // namespace eplb::config
