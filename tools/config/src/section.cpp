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

void complain_of_unknown(const Section& section, const std::string& key, const Entry& entry,
                         std::span<const std::string_view> allowed, Reading& reading) {
  std::string message = unknown("key", entry.key, allowed);
  const auto foreign = std::ranges::find(section.foreign, key, &ForeignKey::key);
  if (foreign != section.foreign.end()) {
    message = "belongs to the kind " + std::string(foreign->kind) + ", not to " +
              std::string(section.kind) + ", which takes " + join(allowed);
  }
  reading.complain(entry.at, section.key_of(key), std::move(message));
}

/// Sorts the entries of `mapping`, whose keys continue `prefix`, into `values`.
void match(const Section& section, const Node& mapping, const std::string& prefix,
           std::span<const std::string_view> keys, std::vector<const Node*>& values,
           Reading& reading) {
  const std::vector<std::string_view> words = next_words(keys, prefix);
  for (const Entry& entry : mapping.entries) {
    const std::string key = prefix + entry.key;
    const bool known = std::ranges::find(words, entry.key) != words.end();
    const auto leaf = std::ranges::find(keys, key);
    if (!known) {
      complain_of_unknown(section, key, entry, words, reading);
    } else if (leaf != keys.end()) {
      values[static_cast<std::size_t>(leaf - keys.begin())] = &entry.value;
      reading.set_position(section.key_of(key), entry.value.at);
    } else if (entry.value.kind == NodeKind::kMapping) {
      match(section, entry.value, key + ".", keys, values, reading);
    } else if (reading.sound({section.key_of(key)})) {
      reading.reject(entry.value.at, section.key_of(key),
                     "must be a mapping of " + join(next_words(keys, key + ".")) + ", got " +
                         describe(entry.value));
    }
  }
}

}  // namespace

Section subsection(const Section& parent, std::string_view key, Reading& reading) {
  Section section{.key = parent.key_of(key)};
  if (parent.node != nullptr && parent.node->kind == NodeKind::kMapping) {
    if (const Entry* entry = find(*parent.node, key); entry != nullptr) {
      section.node = &entry->value;
      reading.set_position(section.key, entry->value.at);
    }
  }
  return section;
}

std::vector<const Node*> values_of(const Section& section, std::span<const std::string_view> keys,
                                   Reading& reading) {
  std::vector<const Node*> values(keys.size(), nullptr);
  if (section.node == nullptr || !reading.sound({section.key})) {
    return values;
  }
  if (section.node->kind != NodeKind::kMapping) {
    reading.reject(
        section.node->at, section.key,
        "must be a mapping of " + join(next_words(keys, "")) + ", got " + describe(*section.node));
    return values;
  }
  match(section, *section.node, "", keys, values, reading);
  return values;
}

}  // namespace eplb::config
