#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace eplb::config {

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other
/// (optimal string alignment: no letter is edited twice).
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

/// The candidate that `word` was most likely meant to be: the fewest edits away, the first of
/// several, none if that is more than a third of the word.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

}  // namespace eplb::config
