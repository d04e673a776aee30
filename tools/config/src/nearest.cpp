#include "eplb/config/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace eplb::config {
namespace {

/// No key or name of ours is longer; a longer word is near to none of them.
constexpr std::size_t kComparedBytesMax = 64;

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> two_back(right.size() + 1);
  std::vector<std::size_t> previous(right.size() + 1);
  std::vector<std::size_t> current(right.size() + 1);
  std::iota(current.begin(), current.end(), std::size_t{0});
  for (std::size_t row = 1; row <= left.size(); ++row) {
    std::swap(two_back, previous);
    std::swap(previous, current);
    current[0] = row;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const std::size_t substitution = left[row - 1] == right[column - 1] ? 0 : 1;
      current[column] = std::min(
          {previous[column] + 1, current[column - 1] + 1, previous[column - 1] + substitution});
      const bool swapped = row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
                           left[row - 2] == right[column - 1];
      if (swapped) {
        current[column] = std::min(current[column], two_back[column - 2] + 1);
      }
    }
  }
  return current.back();
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  if (word.size() > kComparedBytesMax) {
    return std::nullopt;
  }
  std::size_t fewest_edits = std::max<std::size_t>(word.size() / 3, 1) + 1;
  std::optional<std::string_view> best;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = edit_distance(word, candidate);
    if (edits < fewest_edits) {
      fewest_edits = edits;
      best = candidate;
    }
  }
  return best;
}

}  // namespace eplb::config
