#include "fields.hpp"

#include <algorithm>

#include "words.hpp"

namespace eplb::config {

void check_figure_sources(const Node& node, const std::string& key,
                          std::span<const std::string_view> figures, Reading& reading) {
  const Section section{.key = key, .node = &node};
  const std::vector<const Node*> texts = values_of(section, figures, reading);
  for (std::size_t index = 0; index < figures.size(); ++index) {
    const std::string figure = section.key_of(figures[index]);
    if (texts[index] == nullptr || !reading.sound({figure})) {
      continue;
    }
    if (ScalarError error = check_free_text(*texts[index]); error.has_value()) {
      reading.reject(texts[index]->at, figure, std::move(*error));
    }
  }
}

std::optional<std::string_view> read_kind_name(const Section& section,
                                               std::span<const std::string_view> names,
                                               Reading& reading) {
  if (section.node == nullptr || !reading.sound({section.key})) {
    return std::nullopt;
  }
  const std::string allowed = "must be one of " + join(names);
  const Entry* kind =
      section.node->kind == NodeKind::kMapping ? find(*section.node, kKindKey) : nullptr;
  if (kind == nullptr) {
    reading.reject(section.node->at, section.key,
                   "must be a mapping with the key kind, which " + allowed);
    return std::nullopt;
  }
  const auto name = std::ranges::find(names, kind->value.text);
  if (kind->value.kind != NodeKind::kScalar || name == names.end()) {
    reading.reject(kind->value.at, section.key_of(kKindKey),
                   allowed + ", got " + describe(kind->value));
    return std::nullopt;
  }
  return *name;
}

}  // namespace eplb::config
