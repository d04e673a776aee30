// Goal: many layers share one landing pool, so that a rearrangement takes few steps, and none waits
// for it. Method: 40 layers at EP32 with two slots a rank, a wire that is no limit, steps counted
// from the plan's arrival to the last commit on every rank.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "function_policy.hpp"
#include "print_vector.hpp"
#include "served_group.hpp"

namespace eplb {
namespace {

constexpr Shape kShape{
    .layer_count = 40, .expert_count = 64, .redundant_slot_count = 0, .rank_count = 32};
constexpr std::int64_t kLead = 2;

EplbOptions options_of(std::optional<std::int32_t> landing_rows,
                       std::optional<std::int32_t> layers_in_flight) {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 100;  // The first rearrangement comes after 25 steps.
  options.landing_rows = landing_rows;
  options.layers_in_flight = layers_in_flight;
  options.commit_lead_steps = kLead;
  return options;
}

/// How a rearrangement went.
struct Pace {
  std::int64_t steps = 0;                        ///< From the plan to the last commit.
  std::vector<std::int64_t> layers_a_step = {};  ///< Committed, in each step that committed any.
};

Pace pace_of(const EplbOptions& options, const PlacementPolicy& policy,
             std::int64_t moved_experts) {
  test::ServedGroup served(
      {.settings = test::settings_of(kShape, options), .one_rank_counts = true}, policy);
  REQUIRE(served.rearrange_until(1, 100));
  CHECK(served.faults().empty());
  const Rearrangement& rearrangement = served.balancer(0).rearrangements()[0];
  CHECK(rearrangement.moved_experts == moved_experts);
  CHECK_FALSE(rearrangement.abort);
  for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
    CHECK(served.group().rank(RankId{rank}).hold_count() == 0);
    CHECK(served.last_step(rank, env::TraceEvent::kCommit) ==
          served.last_step(0, env::TraceEvent::kCommit));
  }
  std::map<std::int64_t, std::int64_t> layers_by_step;
  for (const test::Traced& commit : served.records(0, env::TraceEvent::kCommit)) {
    ++layers_by_step[commit.step];
  }
  Pace pace{.steps =
                layers_by_step.rbegin()->first - served.last_step(0, env::TraceEvent::kPlanReady)};
  for (const auto& [step, layers] : layers_by_step) {
    pace.layers_a_step.push_back(layers);
  }
  return pace;
}

TEST_CASE("40 layers in which every slot changes commit within five pool-fulls of eight layers") {
  const Pace pace = pace_of(options_of(8 * kShape.slots_per_rank(), std::nullopt),
                            test::rotating_policy(), std::int64_t{40} * 64);
  CHECK(pace.steps <= 5 * (kLead + 1) + 2);
  CHECK(pace.steps == 15);
  CHECK(pace.layers_a_step == std::vector<std::int64_t>{8, 8, 8, 8, 8});
}

/// In each layer the first slots of every fifth rank change places: 8 of a rank's 80 rows.
Placement with_a_tenth_moved(const Placement& before) {
  std::vector<LayerPlacement> layers;
  for (std::int32_t index = 0; index < kShape.layer_count; ++index) {
    const auto current = before.layer(LayerId{index}).occupants();
    std::vector<LogicalExpertId> occupants(current.begin(), current.end());
    std::vector<std::size_t> ring;
    for (std::int32_t rank = index % 5; rank < kShape.rank_count; rank += 5) {
      ring.push_back(static_cast<std::size_t>(rank * kShape.slots_per_rank()));
    }
    for (std::size_t place = 0; place < ring.size(); ++place) {
      occupants[ring[place]] = current[ring[(place + 1) % ring.size()]];
    }
    layers.push_back(LayerPlacement::create(kShape, std::move(occupants)).value());
  }
  return Placement::create(kShape, std::move(layers)).value();
}

TEST_CASE("a tenth of the rows commits within one lead from the default pool, all in one step") {
  const test::FunctionPolicy policy(
      [](const PolicyProblem& problem) { return with_a_tenth_moved(*problem.current); });
  // 8 layers with each of 7, 7, 6, 6 and 6 ranks.
  const Pace pace = pace_of(options_of(std::nullopt, std::nullopt), policy, std::int64_t{8} * 32);
  CHECK(pace.steps <= kLead + 1 + 2);
  CHECK(pace.steps == 3);
  CHECK(pace.layers_a_step == std::vector<std::int64_t>{40});
}

TEST_CASE("with one layer in flight, one layer commits a step, as in the production system") {
  const Pace pace =
      pace_of(options_of(std::nullopt, 1), test::rotating_policy(), std::int64_t{40} * 64);
  CHECK(pace.layers_a_step == std::vector<std::int64_t>(40, 1));
  CHECK(pace.steps == 40 + kLead);
}

}  // namespace
}  // namespace eplb
