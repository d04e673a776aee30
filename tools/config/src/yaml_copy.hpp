#pragma once

#include <vector>

#include "yaml.hpp"

namespace eplb::config {

/// Copies of all that is in a piece of YAML. The copy that a compiler writes would recurse unseen.
[[nodiscard]] Yaml copy_of(const Yaml& yaml);
[[nodiscard]] std::vector<Yaml> copies_of(const std::vector<Yaml>& list);

}  // namespace eplb::config
