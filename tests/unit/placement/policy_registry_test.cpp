// Goal: a policy of a user's own is made by its name beside those of the library. Method: a policy
// with an option, registered, listed, made, and refused where a name or an option is wrong.
#include "eplb/placement/policy_registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eplb/placement/policy_options.hpp"

namespace eplb {
namespace {

using placement::PolicyOptions;
using placement::PolicyRegistry;

/// Slot p holds expert (p + by) mod E.
class Turned final : public PlacementPolicy {
 public:
  explicit Turned(std::int32_t by) : by_(by) {}

  [[nodiscard]] std::string_view name() const override { return "turned"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    std::vector<LayerPlacement> layers;
    for (std::int32_t layer = 0; layer < problem.shape.layer_count; ++layer) {
      std::vector<LogicalExpertId> occupants;
      occupants.reserve(static_cast<std::size_t>(problem.shape.slot_count()));
      for (std::int32_t slot = 0; slot < problem.shape.slot_count(); ++slot) {
        occupants.push_back(LogicalExpertId{(slot + by_) % problem.shape.expert_count});
      }
      auto placed = LayerPlacement::create(problem.shape, std::move(occupants));
      if (!placed) {
        return tl::unexpected(placed.error());
      }
      layers.push_back(*std::move(placed));
    }
    return Placement::create(problem.shape, std::move(layers));
  }

 private:
  std::int32_t by_;
};

Result<std::unique_ptr<PlacementPolicy>> make_turned(std::string_view text) {
  auto options = PolicyOptions::parse("turned", text);
  if (!options) {
    return tl::unexpected(options.error());
  }
  std::int32_t by = 1;
  options->read_count("by", 0, 100, by);
  if (auto read = options->finish(); !read) {
    return tl::unexpected(read.error());
  }
  return std::make_unique<Turned>(by);
}

PolicyRegistry with_turned() {
  PolicyRegistry registry;
  REQUIRE(registry.add("turned", make_turned).has_value());
  return registry;
}

TEST_CASE("a policy that was added is made by its name, with its options") {
  const PolicyRegistry registry = with_turned();
  constexpr Shape kShape{
      .layer_count = 1, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  const auto topology = Topology::create({.rank_count = 2, .ranks_per_node = 2}).value();
  const auto placed =
      registry.make("turned:by=2")
          .value()
          ->place({.shape = kShape, .topology = topology, .history = {}, .costs = {}});
  std::vector<std::int32_t> experts;
  for (const LogicalExpertId expert : placed.value().layer(LayerId{0}).occupants()) {
    experts.push_back(expert.value);
  }
  CHECK(experts == std::vector<std::int32_t>{2, 0, 1, 2});
}

TEST_CASE("the library's policies are there too, and all names are listed in order") {
  const PolicyRegistry registry = with_turned();
  CHECK(registry.make("default:windows=1").value()->name() == "default");
  const std::vector<std::string> names = registry.names();
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::ranges::count(names, "turned") == 1);
  CHECK(std::ranges::count(names, "robust") == 1);
  const auto unknown = registry.make("twisted");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().message.starts_with("unknown policy 'twisted', allowed are d"));
  CHECK(unknown.error().message.find(", turned") != std::string::npos);
}

TEST_CASE("a name that is taken or no word, and an option that is none, are refused") {
  PolicyRegistry registry = with_turned();
  const auto refused = [&](const std::string& name) {
    return registry.add(name, make_turned).error().message;
  };
  CHECK(refused("turned") == "there is a policy 'turned' already");
  CHECK(refused("robust") == "there is a policy 'robust' already");
  for (const char* name : {"", "a:b", "a b", "a=b", "a,b"}) {
    CHECK(refused(name) ==
          "a policy's name must be a word without colon, comma and equals sign, got '" +
              std::string(name) + "'");
  }
  CHECK_FALSE(registry.make("turned:by=101").has_value());
  CHECK_FALSE(registry.make("turned:wrong=1").has_value());
}

}  // namespace
}  // namespace eplb
