#pragma once

#include <string>
#include <string_view>

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
/// the text that it stands in; any other is a name, sought in the directories of `options`.
void include_file(Yaml& value, const std::string& key, const IncludeKind& kind,
                  const LoadOptions& options, Reading& reading);

}  // namespace eplb::config
