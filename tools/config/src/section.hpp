#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reading.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// A key that is legal in a sibling of this section only.
struct ForeignKey {
  std::string_view key;
  std::string_view kind;  ///< The kind that it belongs to.
};

/// A mapping of the configuration that a table of keys describes.
struct Section {
  std::string key = {};        ///< Dotted; empty for the root.
  const Yaml* yaml = nullptr;  ///< Null where the section was not given.
  std::string_view kind = {};  ///< Which kind it is, where it has several; they share key `kind`.
  std::vector<ForeignKey> foreign = {};  ///< Keys of its other kinds.

  [[nodiscard]] std::string key_of(std::string_view key_in_section) const {
    return key.empty() ? std::string(key_in_section) : key + "." + std::string(key_in_section);
  }
};

/// The section `key` of `parent`; its yaml is null where `parent` has none.
[[nodiscard]] Section subsection(const Section& parent, std::string_view key, Reading& reading);

/// Values of `keys` in the section, each null where it was not given, and notes their positions.
/// Rejects the section if it is no mapping; complains of keys that are not in `keys`. A key with a
/// dot, as in `other_kernels_ms.base`, is sought in a mapping of its own.
[[nodiscard]] std::vector<const Yaml*> values_of(const Section& section,
                                                 std::span<const std::string_view> keys,
                                                 Reading& reading);

}  // namespace eplb::config
