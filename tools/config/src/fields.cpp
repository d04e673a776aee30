#include "fields.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "words.hpp"

namespace eplb::config {
namespace {

/// Checks a mapping from some of `figures` to text for people.
void check_figure_sources(const Yaml& yaml, const std::string& key,
                          std::span<const std::string_view> figures, Reading& reading) {
  const Section section{.key = key, .yaml = &yaml};
  const std::vector<const Yaml*> texts = values_of(section, figures, reading);
  for (std::size_t index = 0; index < figures.size(); ++index) {
    const std::string figure = section.key_of(figures[index]);
    if (texts[index] == nullptr || !reading.sound({figure})) {
      continue;
    }
    if (ScalarError error = check_free_text(*texts[index]); error.has_value()) {
      reading.reject(texts[index]->at, figure, *error);
    }
  }
}

void read_row(const Section& section, std::span<const Row> rows, const Row& row, const Yaml* value,
              Reading& reading) {
  const std::string key = section.key_of(row.key);
  if (!reading.sound({key})) {
    return;
  }
  if (value == nullptr) {
    if (row.required) {
      const bool given = section.yaml != nullptr;
      reading.reject(given ? section.yaml->at : reading.position(key), key,
                     "is missing, must be " + allowed(row.place, row.range));
    }
    return;
  }
  if (std::holds_alternative<FigureSources>(row.place)) {
    std::vector<std::string_view> figures = keys_of(rows);
    std::erase(figures, row.key);
    check_figure_sources(*value, key, figures, reading);
  } else if (ScalarError error = read_to(row.place, row.range, *value); error.has_value()) {
    reading.reject(value->at, key, *error);
  }
}

}  // namespace

void read_table(const Section& section, std::span<const Row> rows, Reading& reading) {
  std::vector<std::string_view> keys = keys_of(rows);
  if (!section.kind.empty()) {
    keys.push_back(kKindKey);
  }
  const std::vector<const Yaml*> values = values_of(section, keys, reading);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    read_row(section, rows, rows[index], values[index], reading);
  }
}

std::optional<std::string_view> read_kind_name(const Section& section,
                                               std::span<const std::string_view> names,
                                               Reading& reading) {
  if (section.yaml == nullptr || !reading.sound({section.key})) {
    return std::nullopt;
  }
  const std::string allowed = "must be one of " + join(names);
  const Yaml* kind = find(*section.yaml, kKindKey);
  if (kind == nullptr) {
    reading.reject(section.yaml->at, section.key,
                   "must be a mapping with the key kind, which " + allowed);
    return std::nullopt;
  }
  const auto name = std::ranges::find(names, kind->text);
  if (kind->kind != YamlKind::kScalar || name == names.end()) {
    reading.reject(kind->at, section.key_of(kKindKey), allowed + ", got " + describe(*kind));
    return std::nullopt;
  }
  return *name;
}

}  // namespace eplb::config
