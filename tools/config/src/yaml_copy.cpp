#include "yaml_copy.hpp"

namespace eplb::config {

// NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the text that it was read from.
std::vector<Yaml> copies_of(const std::vector<Yaml>& list) {
  std::vector<Yaml> copies;
  copies.reserve(list.size());
  for (const Yaml& yaml : list) {
    copies.push_back(copy_of(yaml));
  }
  return copies;
}

// NOLINTNEXTLINE(misc-no-recursion): as copies_of.
Yaml copy_of(const Yaml& yaml) {
  return {.kind = yaml.kind,
          .at = yaml.at,
          .quoted = yaml.quoted,
          .text = yaml.text,
          .children = copies_of(yaml.children),
          .key = yaml.key,
          .key_at = yaml.key_at};
}

}  // namespace eplb::config
