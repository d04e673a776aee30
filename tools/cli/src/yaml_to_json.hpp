#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eplb::cli {

/// A YAML text of our own making as JSON, keys in its order. Plain scalars that read as a boolean,
/// a whole or a decimal number, or null become such; all others, and quoted ones, are strings.
[[nodiscard]] nlohmann::ordered_json yaml_to_json(const std::string& yaml);

}  // namespace eplb::cli
