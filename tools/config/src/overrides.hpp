#pragma once

#include <span>
#include <string>
#include <vector>

#include "reading.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// One `key=value` of the command line.
struct Override {
  std::vector<std::string> path;  ///< The words of the dotted key.
  Yaml value;

  [[nodiscard]] bool is_below(std::string_view section) const {
    return path.size() > 1 && path.front() == section;
  }
};

/// Parses each text; one that is wrong is rejected and left out.
[[nodiscard]] std::vector<Override> parse_overrides(std::span<const std::string> texts,
                                                    Reading& reading);

/// Puts the value into the tree, with the sections above it where they are missing.
void apply_override(Override one, Yaml& root, Reading& reading);

}  // namespace eplb::config
