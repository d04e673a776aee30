#include "fields.hpp"

#include <algorithm>

#include "words.hpp"

namespace eplb::config {

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
