#include "eplb/formats/placements.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "array_reader.hpp"
#include "text.hpp"
#include "text_file.hpp"

namespace eplb::formats {
namespace {

constexpr std::string_view kKey = "physical_to_logical_map";

std::string shape_in_words(std::size_t layers, std::size_t slots) {
  return concat({"[", std::to_string(layers), ", ", std::to_string(slots), "]"});
}

}  // namespace

Result<Placement> parse_placement(std::string_view text, std::string_view source_name,
                                  const Shape& shape) {
  const std::string rule =
      concat({"a whole number from 0 to ", std::to_string(shape.expert_count - 1)});
  const auto arrays =
      read_arrays(text, source_name,
                  {.key = kKey,
                   .element_max = static_cast<double>(shape.expert_count) - 1,
                   .whole = true,
                   .element_rule = rule,
                   .example = R"({"physical_to_logical_map": [[0, 1, 2, 0], [2, 1, 0, 1]]})"});
  if (!arrays) {
    return tl::unexpected(arrays.error());
  }
  const NumberArray& map = arrays->front();
  const auto layer_count = static_cast<std::size_t>(shape.layer_count);
  const auto slot_count = static_cast<std::size_t>(shape.slot_count());
  if (map.extents != std::vector{layer_count, slot_count}) {
    return fail_in_file(
        source_name, kKey,
        concat({"has shape ", shape_in_words(map.extents[0], map.extents[1]),
                " where [layers, slots] must be ", shape_in_words(layer_count, slot_count)}));
  }
  std::vector<LayerPlacement> layers;
  layers.reserve(layer_count);
  for (std::size_t index = 0; index < layer_count; ++index) {
    std::vector<LogicalExpertId> occupants;
    occupants.reserve(slot_count);
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
      occupants.push_back({static_cast<std::int32_t>(map.values[index * slot_count + slot])});
    }
    auto layer = LayerPlacement::create(shape, std::move(occupants));
    if (!layer) {
      return fail_in_file(source_name, concat({kKey, "[", std::to_string(index), "]"}),
                          layer.error().message);
    }
    layers.push_back(*std::move(layer));
  }
  return Placement::create(shape, std::move(layers));
}

Result<Placement> read_placement(const std::filesystem::path& path, const Shape& shape) {
  const auto text = read_text(path);
  return text ? parse_placement(*text, path.string(), shape) : tl::unexpected(text.error());
}

}  // namespace eplb::formats
