// Goal: a placement is read slot by slot, and one of another model or group is refused. Method:
// small texts against a shape of 2 layers, 3 experts and 4 slots on 2 ranks.
#include "eplb/formats/placements.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::formats {
namespace {

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};

std::string refusal(std::string_view text) {
  const auto placement = parse_placement(text, "placement.json", kShape);
  return placement ? "accepted" : placement.error().message;
}

TEST_CASE("a placement is read layer by layer, slot by slot") {
  const auto placement = parse_placement(
      R"({"schema": "x", "physical_to_logical_map": [[0, 1, 2, 0], [2, 1.0, 0, 1]], "bound": 3})",
      "f", kShape);
  REQUIRE(placement.has_value());
  CHECK(placement->shape() == kShape);
  const std::vector<LogicalExpertId> first{{0}, {1}, {2}, {0}};
  const std::vector<LogicalExpertId> second{{2}, {1}, {0}, {1}};
  CHECK(std::ranges::equal(placement->layer(LayerId{0}).occupants(), first));
  CHECK(std::ranges::equal(placement->layer(LayerId{1}).occupants(), second));
}

TEST_CASE("a slot must hold an expert of the model") {
  const std::string rule =
      "physical_to_logical_map[0][3]: must be a whole number from 0 to 2, got ";
  for (const std::string bad : {"3", "-1", "0.5", "1e300", "NaN", "null", "[0]"}) {
    CAPTURE(bad);
    CHECK(refusal(R"({"physical_to_logical_map": [[0,1,2,)" + bad + "],[0,1,2,0]]}") ==
          "placement.json:1:37: error: " + rule + (bad == "[0]" ? "an array" : bad));
  }
}

TEST_CASE("every expert must have a slot in every layer") {
  CHECK(refusal(R"({"physical_to_logical_map": [[0, 1, 2, 0], [0, 1, 1, 0]]})") ==
        "placement.json: error: physical_to_logical_map[1]: expert 2 has no slot");
}

TEST_CASE("a placement of another shape is refused") {
  const std::string key = "placement.json: error: physical_to_logical_map: ";
  CHECK(refusal(R"({"physical_to_logical_map": [[0, 1, 2], [0, 1, 2]]})") ==
        key + "has shape [2, 3] where [layers, slots] must be [2, 4]");
  CHECK(refusal(R"({"physical_to_logical_map": [[0, 1, 2, 0]]})") ==
        key + "has shape [1, 4] where [layers, slots] must be [2, 4]");
}

TEST_CASE("a placement nested otherwise, or missing, is refused") {
  CHECK(refusal(R"({"physical_to_logical_map": [0, 1, 2, 0]})") ==
        "placement.json:1:30: error: physical_to_logical_map[0]: must be an array, got 0");
  CHECK(refusal(R"({"logical_count": [[1]]})") ==
        "placement.json: error: physical_to_logical_map: is missing; the file must be like "
        R"({"physical_to_logical_map": [[0, 1, 2, 0], [2, 1, 0, 1]]})");
}

TEST_CASE("a shape that is not valid is refused, not asserted") {
  const auto placement =
      parse_placement(R"({"physical_to_logical_map": [[0, 1, 2, 0]]})", "placement.json",
                      {.layer_count = 1, .expert_count = 3, .redundant_slot_count = 1});
  REQUIRE_FALSE(placement.has_value());
  CHECK(placement.error().message ==
        "placement.json: error: physical_to_logical_map[0]: ranks must be at least 1, got 0");
}

}  // namespace
}  // namespace eplb::formats
