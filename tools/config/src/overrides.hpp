#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Parses each text; one that is wrong is rejected and left out. Paths in them are relative to
/// `directory`.
[[nodiscard]] std::vector<Override> parse_overrides(std::span<const std::string> texts,
                                                    const std::filesystem::path& directory,
                                                    Reading& reading);

/// The words of a dotted key, or none if one of them is no word or there are too many.
[[nodiscard]] std::optional<std::vector<std::string>> split_key(std::string_view key);

/// Puts the value into the tree, with the sections above it where they are missing.
void apply_override(Override one, Yaml& root, Reading& reading);

}  // namespace eplb::config
