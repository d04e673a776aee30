#include "eplb/placement/search/space.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "eplb/core/digest.hpp"

namespace eplb::placement {

std::int64_t space_size(std::span<const SearchAxis> axes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t size = 1;
  for (const SearchAxis& axis : axes) {
    const auto count = static_cast<std::int64_t>(axis.values.size());
    if (count > 0 && size > kMost / count) {
      return kMost;
    }
    size *= count;
  }
  return size;
}

std::vector<std::size_t> values_at(std::span<const SearchAxis> axes, std::int64_t point) {
  std::vector<std::size_t> values(axes.size());
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const auto count = static_cast<std::int64_t>(axes[axis].values.size());
    values[axis] = static_cast<std::size_t>(point % count);
    point /= count;
  }
  return values;
}

std::vector<std::int64_t> candidate_points(const SearchOptions& options, std::uint64_t seed) {
  const std::int64_t size = space_size(options.axes);
  const std::int64_t wanted =
      std::min(std::int64_t{options.candidates.value_or(kSearchCandidatesMax)}, size);
  std::vector<std::int64_t> points(
      static_cast<std::size_t>(std::min(wanted, kSearchCandidatesMax)));
  if (wanted == size) {
    std::iota(points.begin(), points.end(), std::int64_t{0});
    return points;
  }
  std::set<std::int64_t> drawn;
  std::uint64_t draw = 0;
  for (std::int64_t& point : points) {
    do {
      const std::uint64_t bits = digest_of("candidate " + std::to_string(draw++), seed);
      point = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(size));
    } while (!drawn.insert(point).second);
  }
  return points;
}

}  // namespace eplb::placement
