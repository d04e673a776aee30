// Goal: a layer migrates if and only if what it gains over the horizon exceeds its price, and what
// it gains is believed. Method: two ranks of two slots, loads of millions, where noise is a
// thousandth, so that gains and prices are worked by hand; then the edges of each option.
#include "eplb/core/trigger.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "eplb/core/migration_schedule.hpp"
#include "fixed_policy.hpp"
#include "placements.hpp"

namespace eplb {
namespace {

constexpr Shape kShape{.layer_count = 2, .expert_count = 4, .rank_count = 2};
constexpr double kMillion = 1e6;

RealLoadMatrix load_of(const std::vector<double>& first_layer,
                       const std::vector<double>& second_layer) {
  RealLoadMatrix load(2, 4);
  load.row(0) = Eigen::Map<const Eigen::RowVectorXd>(first_layer.data(), 4);
  load.row(1) = Eigen::Map<const Eigen::RowVectorXd>(second_layer.data(), 4);
  return load * kMillion;
}

const std::vector<double> kSkewed{3, 3, 1, 1};  // Ranks of 6 and 2; of 4 and 4 as proposed.
const std::vector<double> kFlat{2, 2, 2, 2};

struct Case {
  Topology topology = Topology::create({.rank_count = 2}).value();
  std::vector<RealLoadMatrix> history{load_of(kSkewed, kFlat)};
  Placement current = Placement::initial(kShape);
  /// In both layers experts 1 and 2 change places: one row each way.
  Placement proposed = test::placement(kShape, {{0, 2, 1, 3}, {0, 2, 1, 3}});
  double window_steps = 1;
  /// Above what noise makes of no gain at all.
  TriggerProblem trigger{.options = {.hysteresis = 0.001},
                         .horizon_steps = 10,
                         .row_bytes = {1000, 1000},
                         .rearrangements_since_move = {0, 0}};

  [[nodiscard]] PolicyProblem problem() const {
    return {.shape = kShape,
            .topology = topology,
            .history = history,
            .window_part_count = static_cast<std::int32_t>(history.size()),
            .current = &current,
            .costs = {.layer = {.ns_per_assignment = 1},
                      .migration = {.wire_ns_per_byte = 1,
                                    .commit_ns_per_byte = 2,
                                    .commit_start_ns = 5}},
            .window_steps = window_steps};
  }

  [[nodiscard]] SelectedLayers select() const {
    return select_layers(problem(), proposed, trigger);
  }

  /// Which layers migrate.
  [[nodiscard]] std::vector<bool> migrated() const {
    const Placement selected = select().placement;
    std::vector<bool> layers;
    for (const std::int32_t index : {0, 1}) {
      const LayerId layer{index};
      layers.push_back(selected.layer(layer) == proposed.layer(layer));
      CHECK((layers.back() || selected.layer(layer) == current.layer(layer)));
    }
    return layers;
  }
};

constexpr double kPriceNs = 1000 * 1 + 1000 * 2 + 5;

TEST_CASE("a layer that gains migrates, one that does not stays") {
  const SelectedLayers selected = Case().select();
  CHECK(Case().migrated() == std::vector<bool>{true, false});
  CHECK(selected.verdict.proposed_layers == 2);
  CHECK(selected.verdict.declined_layers == 1);
  CHECK(selected.verdict.cooling_layers == 0);
  CHECK(selected.verdict.gain_ns == doctest::Approx(10 * 2 * kMillion).epsilon(0.005));
  CHECK(selected.verdict.price_ns == kPriceNs);
  CHECK(selected.verdict.declined_price_ns == kPriceNs);
  CHECK(std::abs(selected.verdict.declined_gain_ns) < 10 * 0.003 * kMillion);
}

TEST_CASE("a gain counts for as many steps as the horizon has, and for what a forward brings") {
  Case c;
  const double gain_ns = c.select().verdict.gain_ns;
  c.trigger.horizon_steps = 20;
  CHECK(c.select().verdict.gain_ns == doctest::Approx(2 * gain_ns));
  c.window_steps = 4;  // Each forward had a quarter.
  CHECK(c.select().verdict.gain_ns == doctest::Approx(gain_ns / 2).epsilon(0.005));
}

TEST_CASE("a layer stays where its price, times the factor, is above its gain") {
  Case c;
  const double gain_ns = c.select().verdict.gain_ns;
  c.trigger.options.price = 0.99 * gain_ns / kPriceNs;
  CHECK(c.migrated() == std::vector<bool>{true, false});
  c.trigger.options.price = 1.01 * gain_ns / kPriceNs;
  CHECK(c.migrated() == std::vector<bool>{false, false});
  CHECK(c.select().verdict.declined_price_ns > c.select().verdict.declined_gain_ns);
}

TEST_CASE("a gain that is no larger a share of the layer's time than the hysteresis is none") {
  Case c;  // A third of six.
  c.trigger.options.hysteresis = 0.33;
  CHECK(c.migrated() == std::vector<bool>{true, false});
  c.trigger.options.hysteresis = 0.34;
  CHECK(c.migrated() == std::vector<bool>{false, false});
}

TEST_CASE("what must be gained beyond the hysteresis is the price, not the price or the margin") {
  Case c;
  const double gain_ns = c.select().verdict.gain_ns;
  c.trigger.options.price = 0.6 * gain_ns / kPriceNs;
  c.trigger.options.hysteresis = 0.1;  // 0.3 of the gain.
  CHECK(c.migrated() == std::vector<bool>{true, false});
  c.trigger.options.hysteresis = 0.15;  // 0.45 of it.
  CHECK(c.migrated() == std::vector<bool>{false, false});
}

TEST_CASE("a proposal that makes a layer longer stays out, even for nothing") {
  Case c;
  std::swap(c.current, c.proposed);
  c.trigger.options.price = 0;
  CHECK(c.migrated() == std::vector<bool>{false, false});
  CHECK(c.select().verdict.declined_gain_ns < -10 * 1.99 * kMillion);
}

TEST_CASE("a gain that parts do not repeat is believed by as much as they do") {
  Case c;
  const RealLoadMatrix skewed = load_of(kSkewed, kFlat);
  const RealLoadMatrix flat = load_of(kFlat, kFlat);
  const auto gain_ns = [&c](const std::vector<RealLoadMatrix>& history) {
    c.history = history;
    c.window_steps = static_cast<double>(history.size());
    const TriggerVerdict verdict = c.select().verdict;
    return verdict.gain_ns + verdict.declined_gain_ns;
  };
  const double always_ns = gain_ns({skewed, skewed, skewed, skewed, skewed});
  CHECK(always_ns == doctest::Approx(10 * 2 * kMillion).epsilon(0.01));
  // Half the skew is expected, and the fifth part was half of it beside what the four tell.
  CHECK(gain_ns({skewed, flat, skewed, flat, skewed}) ==
        doctest::Approx(10 * kMillion).epsilon(0.01));
  CHECK(gain_ns({flat, skewed, flat, skewed, flat}) ==
        doctest::Approx(10 * kMillion).epsilon(0.01));
  CHECK(gain_ns({flat, flat, flat, flat, flat}) < 0.01 * always_ns);
}

TEST_CASE(
    "a placement that suits what a load may become gains, though it does not for what it is") {
  Case c;
  // Experts 0 and 1 grow and fall together about an even load: as proposed they are apart.
  const RealLoadMatrix more = load_of({3, 3, 1, 1}, kFlat);
  const RealLoadMatrix less = load_of({1, 1, 3, 3}, kFlat);
  c.history = {more, less, more, less, more, less};
  c.window_steps = 6;
  CHECK(c.migrated() == std::vector<bool>{true, false});
}

TEST_CASE("a layer that has moved stays for as many rearrangements as the cool-down has") {
  Case c;
  c.trigger.options.cool_down = 2;
  const auto moves_after = [&c](std::int64_t rearrangements) -> bool {
    c.trigger.rearrangements_since_move = {rearrangements, 0};
    return c.migrated()[0];
  };
  CHECK_FALSE(moves_after(1));
  CHECK_FALSE(moves_after(2));
  CHECK(moves_after(3));
  CHECK(moves_after(0));  // It never has.
  c.trigger.rearrangements_since_move = {1, 1};
  const TriggerVerdict verdict = c.select().verdict;
  CHECK(verdict == TriggerVerdict{.proposed_layers = 2, .declined_layers = 2, .cooling_layers = 2});
}

TEST_CASE("layers that stay as they are are not asked about, nor priced") {
  Case c;
  c.proposed = test::placement(kShape, {{0, 2, 1, 3}, {0, 1, 2, 3}});
  const TriggerVerdict verdict = c.select().verdict;
  CHECK(verdict.proposed_layers == 1);
  CHECK(verdict.declined_layers == 0);
  CHECK(verdict.declined_price_ns == 0);
}

TEST_CASE("a layer without any load gains nothing") {
  Case c;
  c.history = {load_of({0, 0, 0, 0}, kSkewed)};
  c.trigger.options.price = 0;
  CHECK(c.migrated() == std::vector<bool>{false, true});
}

TEST_CASE("the price is that of the busiest rank, on the way and at the commit") {
  const Shape shape{.layer_count = 1, .expert_count = 6, .rank_count = 3};
  const LayerPlacement before = LayerPlacement::initial(shape);  // 0 1 | 2 3 | 4 5
  // Rank 0 lets out 0 and 1 and takes in 2; within it nothing can stay.
  const LayerPlacement after = test::layer_placement(shape, {2, 4, 0, 3, 1, 5});
  const LayerMigration migration = plan_layer_migration(LayerId{0}, before, after);
  CHECK(busiest_wire_rows(migration, after) == 2);
  CHECK(busiest_commit_rows(migration, after) == 2);
  CHECK(migration_ns({.wire_ns_per_byte = 1, .commit_ns_per_byte = 10, .commit_start_ns = 7},
                     migration, after, 100) == 200 + 2000 + 7);
}

TEST_CASE("a plan schedules only the layers that the trigger lets migrate") {
  const Case c;
  PlanRequest request{.rearrangement = 1,
                      .shape = kShape,
                      .topology = c.topology,
                      .staying = std::nullopt,
                      .history = {std::make_shared<const RealLoadMatrix>(c.history[0])},
                      .window_part_count = 1,
                      .current = std::make_shared<const Placement>(c.current),
                      .costs = c.problem().costs,
                      .window_steps = c.window_steps,
                      .trigger = c.trigger,
                      .schedule = {.landing_rows = 2, .row_bytes = {1000, 1000}}};
  const test::FixedPolicy policy(c.proposed);
  const auto planned = plan_rearrangement(request, policy).value();
  REQUIRE(planned->layer_count() == 1);
  CHECK(planned->layers[0].migration.layer == LayerId{0});
  CHECK(planned->verdict == c.select().verdict);
  request.trigger.reset();
  const auto all = plan_rearrangement(request, policy).value();
  CHECK(all->layer_count() == 2);
  CHECK_FALSE(all->verdict.has_value());
}

}  // namespace
}  // namespace eplb
