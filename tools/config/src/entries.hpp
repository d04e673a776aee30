#pragma once

#include <string>
#include <vector>

#include "fields.hpp"
#include "words.hpp"

namespace eplb::config {

/// Reads the key `key` of a section: a list of mappings that a table describes. Empty if it was not
/// given, or is none.
template <typename S>
[[nodiscard]] std::vector<S> read_entries(const Section& section, std::string_view key,
                                          Fields<S> fields, Reading& reading) {
  std::vector<S> entries;
  const std::string name = section.key_of(key);
  const Yaml* list = section.yaml == nullptr ? nullptr : find(*section.yaml, key);
  if (list == nullptr || !reading.sound({name})) {
    return entries;
  }
  if (list->kind != YamlKind::kList) {
    reading.reject(
        list->at, name,
        "must be a list of entries with " + join(keys_of(fields)) + ", got " + describe(*list));
    return entries;
  }
  for (const Yaml& item : list->children) {
    const Section entry{.key = name + "[" + std::to_string(entries.size()) + "]", .yaml = &item};
    reading.set_position(entry.key, item.at);
    entries.push_back(read_fields<S>(entry, fields, reading));
  }
  return entries;
}

}  // namespace eplb::config
