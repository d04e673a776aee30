#include "eplb/cli/nearest_name.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace eplb::cli {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // Rows of the usual table: two and one characters of `left` ago, and now.
  std::vector<std::size_t> before_last(right.size() + 1, 0);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1, 0);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const bool is_same = left[i - 1] == right[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last.back();
}

std::string did_you_mean(std::string_view given, std::span<const std::string> names) {
  // A longer text than any name needs no look: it is far from all.
  constexpr std::size_t kLengthMax = 64;
  const std::string* nearest = nullptr;
  std::size_t least =
      given.size() > kLengthMax ? 0 : std::max<std::size_t>(given.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = least == 0 ? 0 : edit_distance(given, name);
    if (distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace eplb::cli
