// Goal: `deepseek` and `default` are bit-exact with the programs whose names they bear.
// Method: every case of tests/data/golden/placements.json, slot by slot (source:
// tests/data/README).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan.hpp"

namespace eplb::test {
namespace {

using Rows = std::vector<std::vector<std::int32_t>>;

nlohmann::json golden_cases() {
  std::ifstream file(EPLB_SOURCE_DIR "/tests/data/golden/placements.json");
  REQUIRE(file.good());
  return nlohmann::json::parse(file);
}

Shape shape_of(const nlohmann::json& golden) {
  return {.layer_count = static_cast<std::int32_t>(golden.at("load").size()),
          .expert_count = golden.at("logical"),
          .redundant_slot_count =
              golden.at("physical").get<std::int32_t>() - golden.at("logical").get<std::int32_t>(),
          .rank_count = golden.at("ranks"),
          .expert_group_count = golden.at("groups")};
}

RealLoadMatrix load_of(const nlohmann::json& golden, const Shape& shape) {
  RealLoadMatrix load(shape.layer_count, shape.expert_count);
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
      load(layer, expert) = golden.at("load")
                                .at(static_cast<std::size_t>(layer))
                                .at(static_cast<std::size_t>(expert));
    }
  }
  return load;
}

Placement placement_of(const Shape& shape, const Rows& rows) {
  std::vector<LayerPlacement> layers;
  for (const auto& row : rows) {
    layers.push_back(LayerPlacement::create(shape, occupants_of(row)).value());
  }
  return Placement::create(shape, std::move(layers)).value();
}

/// Plans the file's cases of one policy, compares every slot, and returns how many cases there
/// were.
std::size_t check_cases(const std::string& published_name, std::string_view policy) {
  std::size_t checked = 0;
  for (const nlohmann::json& golden : golden_cases()) {
    if (golden.at("policy") != published_name) {
      continue;
    }
    const std::string name = golden.at("name");
    CAPTURE(name);
    const Shape shape = shape_of(golden);
    std::optional<Placement> current;
    if (golden.contains("current")) {
      current = placement_of(shape, golden.at("current").get<Rows>());
    }
    const Placement placed = plan({.policy = policy,
                                   .shape = shape,
                                   .node_count = golden.at("nodes"),
                                   .current = current ? &*current : nullptr},
                                  load_of(golden, shape));
    const Rows expected = golden.at("expected");
    REQUIRE(expected.size() == placed.layers().size());
    for (std::size_t layer = 0; layer < expected.size(); ++layer) {
      CAPTURE(layer);
      CHECK(numbers_of(placed.layers()[layer].occupants()) == expected[layer]);
    }
    ++checked;
  }
  return checked;
}

TEST_CASE("deepseek gives every golden placement of DeepSeek's program") {
  CHECK(check_cases("deepseek", "deepseek") == 15);
}

TEST_CASE("default gives every golden placement of vLLM's policy, from the placement before") {
  CHECK(check_cases("vllm", "default") == 14);
}

}  // namespace
}  // namespace eplb::test
