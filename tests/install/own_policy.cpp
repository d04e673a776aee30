// Goal: a user's own policy is registered by its name, plans, and serves in the simulator, all
// through the installed library. Method: "one_for_hottest" gives every spare slot to the hottest
// experts, one each, and leaves all others where they are; placements by hand, and a run that gets
// better balanced by it. Ends with 0 if all is as known.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"
#include "eplb/placement/policy_options.hpp"
#include "eplb/placement/policy_registry.hpp"
#include "eplb/sim/simulation.hpp"

namespace {

using eplb::LayerPlacement;
using eplb::LogicalExpertId;
using eplb::Placement;
using eplb::PlacementPolicy;
using eplb::PolicyProblem;
using eplb::Result;

class OneForHottest final : public PlacementPolicy {
 public:
  explicit OneForHottest(std::int32_t skipped) : skipped_(skipped) {}

  [[nodiscard]] std::string_view name() const override { return "one_for_hottest"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    const eplb::RealLoadMatrix load = eplb::window_load(problem);
    std::vector<LayerPlacement> layers;
    for (std::int32_t layer = 0; layer < problem.shape.layer_count; ++layer) {
      std::vector<std::int32_t> hottest(static_cast<std::size_t>(problem.shape.expert_count));
      std::iota(hottest.begin(), hottest.end(), 0);
      std::stable_sort(hottest.begin(), hottest.end(), [&](std::int32_t a, std::int32_t b) {
        return load(layer, a) > load(layer, b);
      });
      std::vector<LogicalExpertId> occupants;
      for (std::int32_t slot = 0; slot < problem.shape.slot_count(); ++slot) {
        const std::int32_t spare = slot - problem.shape.expert_count + skipped_;
        occupants.push_back(LogicalExpertId{
            slot < problem.shape.expert_count
                ? slot
                : hottest[static_cast<std::size_t>(spare % problem.shape.expert_count)]});
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
  std::int32_t skipped_;  ///< Hottest experts that get no copy.
};

Result<std::unique_ptr<PlacementPolicy>> make_one_for_hottest(std::string_view text) {
  auto options = eplb::placement::PolicyOptions::parse("one_for_hottest", text);
  if (!options) {
    return tl::unexpected(options.error());
  }
  std::int32_t skipped = 0;
  options->read_count("skipped", 0, 8, skipped);
  if (auto read = options->finish(); !read) {
    return tl::unexpected(read.error());
  }
  return std::make_unique<OneForHottest>(skipped);
}

bool holds(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "does not hold: %s\n", what);
  }
  return condition;
}

bool plans(const eplb::placement::PolicyRegistry& policies) {
  constexpr eplb::Shape kShape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};
  const auto topology = eplb::Topology::create({.rank_count = 2, .ranks_per_node = 2});
  eplb::RealLoadMatrix load(1, 4);
  load << 3, 9, 1, 5;
  const std::vector<eplb::RealLoadMatrix> history{load};
  const auto copied = [&](std::string_view spec) -> std::vector<std::int32_t> {
    const auto policy = policies.make(spec);
    const auto placed = policy ? (*policy)->place({.shape = kShape,
                                                   .topology = *topology,
                                                   .history = history,
                                                   .window_part_count = 1,
                                                   .current = nullptr,
                                                   .costs = {}})
                               : Result<Placement>(tl::unexpected(policy.error()));
    if (!placed) {
      return {};
    }
    const auto occupants = placed->layer(eplb::LayerId{0}).occupants();
    return {occupants[4].value, occupants[5].value};
  };
  return holds(copied("one_for_hottest") == std::vector<std::int32_t>{1, 3},
               "experts 1 and 3 are the hottest") &&
         holds(copied("one_for_hottest:skipped=1") == std::vector<std::int32_t>{3, 0},
               "an option reaches the policy") &&
         holds(!policies.make("one_for_hottest:skipped=9").has_value(),
               "an option out of range is refused");
}

/// Four ranks of a machine of round figures, and a skewed load.
eplb::sim::Scenario scenario() {
  eplb::sim::Scenario scenario;
  scenario.model = {.name = "small",
                    .moe_layers = 4,
                    .hidden = 1000,
                    .moe_intermediate = 1000,
                    .logical_experts = 16,
                    .top_k = 2,
                    .expert_groups = 1,
                    .weight_format = eplb::WeightFormat::kBf16};
  scenario.hardware.device = "round figures";
  scenario.hardware.gpus_per_node = 4;
  scenario.hardware.gpus_per_domain = 4;
  scenario.hardware.hbm_bandwidth_gb_per_s = 2000;
  scenario.hardware.bf16_tflops = 100;
  scenario.hardware.nvlink_bandwidth_gb_per_s = 400;
  scenario.hardware.network_bandwidth_gb_per_s = 40;
  scenario.hardware.peer_copy_bandwidth_gb_per_s = 300;
  scenario.hardware.network_copy_bandwidth_gb_per_s = 30;
  scenario.parallel = {.ranks = 4, .ranks_per_node = 4};
  scenario.serving = {.requests_per_rank = 64,
                      .tokens_per_request = 2,
                      .accepted_tokens = 1.5,
                      .other_kernels_base_ms = 1};
  scenario.workload.routing = eplb::sim::LognormalRouting{.sigma = 1.0};
  scenario.eplb.num_redundant_experts = 4;
  scenario.eplb.window_size = 20;
  scenario.eplb.step_interval = 40;
  scenario.run = {.steps = 200, .seed = 7, .compare_off = false};
  return scenario;
}

bool serves(const eplb::placement::PolicyRegistry& policies) {
  const auto policy = policies.make("one_for_hottest");
  const auto result = eplb::sim::simulate(scenario(), **policy, {});
  return holds(result.has_value(), "the simulator serves with it") &&
         holds(!result->rearrangements.empty(), "experts have moved") &&
         holds(*result->balancedness.after > *result->balancedness.before,
               "it serves better balanced than before");
}

}  // namespace

int main() {
  eplb::placement::PolicyRegistry policies;
  const bool added = policies.add("one_for_hottest", make_one_for_hottest).has_value();
  return holds(added, "the name is free") && plans(policies) && serves(policies) ? 0 : 1;
}
