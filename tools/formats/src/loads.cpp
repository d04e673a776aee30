#include "eplb/formats/loads.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "array_reader.hpp"
#include "text_file.hpp"

namespace eplb::formats {
namespace {

constexpr ArrayFormat kLoadsFormat{
    .key = "logical_count",
    .depth_min = 2,
    .depth_max = 3,
    .element_rule = "a finite number that is not negative",
    .example = R"({"logical_count": [[12, 3, 5], [1, 9, 2]]})",
};

}  // namespace

Result<Loads> parse_loads(std::string_view text, std::string_view source_name) {
  const auto arrays = read_arrays(text, source_name, kLoadsFormat);
  if (!arrays) {
    return tl::unexpected(arrays.error());
  }
  const NumberArray& counts = arrays->front();
  const bool has_windows = counts.extents.size() == 3;
  const std::size_t window_count = has_windows ? counts.extents.front() : 1;
  const auto expert_count = static_cast<Eigen::Index>(counts.extents.back());
  const auto layer_count = static_cast<Eigen::Index>(*(counts.extents.end() - 2));
  Loads loads;
  loads.windows.reserve(window_count);
  const double* first = counts.values.data();
  for (std::size_t window = 0; window < window_count; ++window) {
    loads.windows.emplace_back(Eigen::Map<const RealLoadMatrix>(first, layer_count, expert_count));
    first += layer_count * expert_count;
  }
  return loads;
}

Result<Loads> read_loads(const std::filesystem::path& path) {
  const auto text = read_text(path);
  return text ? parse_loads(*text, path.string()) : tl::unexpected(text.error());
}

}  // namespace eplb::formats
