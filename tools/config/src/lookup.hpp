#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/config/config.hpp"
#include "reading.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// A kind of file that a scenario names rather than spells out.
struct IncludeKind {
  std::string_view noun;    ///< What it describes, as `model`.
  std::string_view folder;  ///< Of a configuration directory, as `models`.
  bool has_name;            ///< Its mapping has a key `name`, by default the file's.
};

/// Where `value`, which the scenario has under the dotted `key`, is a name or a path, puts the
/// file's mapping in its place. A value with a slash or the extension .yaml is a path, relative to
/// the text that it stands in; any other is a name, sought in the directories of `options`. Returns
/// the file, or an empty path where there was none to read.
std::filesystem::path include_file(Yaml& value, const std::string& key, const IncludeKind& kind,
                                   const LoadOptions& options, Reading& reading);

/// Names of all files of a kind, sorted, each once.
[[nodiscard]] std::vector<std::string> known_names(const IncludeKind& kind,
                                                   const LoadOptions& options);

}  // namespace eplb::config
