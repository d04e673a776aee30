// Goal: a group's forwards are collective, its ranks go on by their balancers' answers, and a rank
// that is gone takes all with it. Method: four ranks with real balancers, forwards of 100 us, a
// wire and messages that are fast beside them; and a group without balancers.
#include "eplb/sim/group/group.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "eplb/sim/environment.hpp"
#include "fixed_policy.hpp"
#include "function_policy.hpp"
#include "placements.hpp"
#include "print_vector.hpp"
#include "rows.hpp"
#include "served_group.hpp"

namespace eplb::sim {
namespace {

using test::ServedGroup;

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 6, .redundant_slot_count = 2, .rank_count = 4};

EplbOptions options_of(bool use_async) {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 20;
  options.use_async = use_async;
  return options;
}

TEST_CASE("weights are loaded into every slot, all replicas, empty slots left alone") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(true))}, policy);
  served.group().load_weights(
      test::placement(kShape, {{0, 1, 2, 3, 4, 5, -1, 0}, {5, 4, 3, 2, 1, 0, 5, 5}}), 7);
  const RowStore& rows = served.group().rows();
  CHECK(rows.content(test::weights_row(3, 0, 1)) ==
        RowContent{.layer = 0, .expert = 0, .version = 7});
  CHECK(rows.content(test::weights_row(3, 1, 0)) ==
        RowContent{.layer = 1, .expert = 5, .version = 7});
  CHECK(rows.content(test::weights_row(3, 0, 0)).version == 0);  // As it was.
}

TEST_CASE("a group in which nothing is late never holds, not even at its start") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(true))}, policy);
  REQUIRE(served.rearrange_until(3, 100));
  CHECK(served.faults() == std::vector<std::string>{});
  for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
    CHECK(served.group().rank(RankId{rank}).hold_count() == 0);
    CHECK(served.group().rank(RankId{rank}).hold_ns() == 0);
  }
}

TEST_CASE("statuses that take longer than the lead make ranks hold, and nothing else happens") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(true))}, policy);
  // A status is decided on two forwards after it was posted: 250 us are 50 us too late.
  served.timing().between_ranks_ns = 250'000;
  REQUIRE(served.rearrange_until(1, 40));
  for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
    CHECK(served.group().rank(RankId{rank}).hold_count() > 0);
    CHECK(served.group().rank(RankId{rank}).hold_ns() > 50'000);
  }
  CHECK_FALSE(served.balancer(0).rearrangements()[0].abort);
  CHECK(served.faults() == std::vector<std::string>{});
}

TEST_CASE("sync mode holds once a rearrangement, and says how long") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(false))}, policy);
  REQUIRE(served.rearrange_until(2, 100));
  served.serve_until(served.steps() + 1);
  std::int64_t held_ns = 0;
  for (const Rearrangement& rearrangement : served.balancer(0).rearrangements()) {
    held_ns += rearrangement.end_ns - rearrangement.start_ns;
  }
  const SimRank& rank = served.group().rank(RankId{0});
  CHECK(rank.hold_count() == 2);
  // Beyond the last commit a hold lasts until all ranks know that its rows have retired.
  CHECK(rank.hold_ns() > held_ns);
  CHECK(rank.hold_ns() < held_ns + 2'000);
  CHECK(served.faults() == std::vector<std::string>{});
}

TEST_CASE("a rank that is lost in a forward ends it for all") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(true))}, policy);
  served.tokens = [&](RankId rank, std::int64_t step) -> LoadMatrix {
    if (rank == RankId{1} && step == 3) {
      served.group().rank(rank).lose();
    }
    return LoadMatrix::Ones(kShape.layer_count, kShape.expert_count);
  };
  served.serve_until(10);
  CHECK(served.steps() == 3);
  CHECK(served.group().in_forward());
  CHECK(served.group().rank(RankId{1}).lost());
  CHECK_FALSE(served.group().rank(RankId{1}).stopped());
  CHECK(served.group().rank(RankId{0}).stopped());
  CHECK(served.stopped_ranks().size() == 3);
}

TEST_CASE("a rank whose helper dies while rows move asks to abort, and then ends the group") {
  EplbOptions options = options_of(true);
  options.deadline_ms = 1;
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options)}, policy);
  served.timing().wire_ns = 150'000;
  served.serve_until(6);
  REQUIRE(served.balancer(2).state() == MigrationState::kMoving);
  served.group().rank(RankId{2}).let_helper_die();
  served.serve_until(100);
  const auto asked = served.records(2, env::TraceEvent::kFailure);
  REQUIRE(asked.size() == 2);
  for (const auto& said : asked) {
    CHECK(said.record.subject == static_cast<std::int64_t>(FailureCause::kDeadline));
    CHECK(said.record.value == 2);
  }
  // It never sees its own transfers end, so the abort cannot end either: it ends the group.
  REQUIRE(served.stopped_ranks().size() == 4);
  for (const auto& [rank, reason] : served.stopped_ranks()) {
    CHECK(reason == Failure{.cause = FailureCause::kDeadline,
                            .rank = RankId{2},
                            .state = MigrationState::kAborting});
  }
}

TEST_CASE("a helper that comes back in time has only been slow") {
  const auto policy = test::rotating_policy();
  ServedGroup served({.settings = test::settings_of(kShape, options_of(true))}, policy);
  served.serve_until(5);
  served.group().rank(RankId{2}).let_helper_die();
  served.serve_until(15);
  CHECK(served.balancer(0).committed_layer_count() == 0);
  served.group().rank(RankId{2}).revive_helper();
  REQUIRE(served.rearrange_until(1, 20));
  CHECK_FALSE(served.balancer(0).rearrangements()[0].abort);
  CHECK(served.faults() == std::vector<std::string>{});
}

/// Serves forwards of 100 ns without a balancer, three of them.
class PlainServing final : public Serving {
 public:
  explicit PlainServing(SimGroup*& group) : group_(group) {}

  void forward_ready() override { group_->begin_forward(100); }

  void end_forward() override { ++steps; }

  [[nodiscard]] StepKind kind_of(RankId /*rank*/) override { return StepKind::kReal; }

  [[nodiscard]] bool proceeds(RankId /*rank*/) override {
    ++questions;
    return steps < 3;
  }

  void stopped(RankId /*rank*/) override { ++stops; }

  int steps = 0;
  int questions = 0;
  int stops = 0;

 private:
  SimGroup*& group_;
};

TEST_CASE(
    "without balancers a group serves on until it is told to wait, and goes on when resumed") {
  EventEngine engine;
  test::FixedTiming timing;
  FlightCarrier carrier{engine, timing};
  Violations violations;
  DigestSink trace;
  const test::FixedPolicy policy(Placement::initial(kShape));
  SimGroup* group_or_null = nullptr;
  PlainServing serving(group_or_null);
  env::NoFaultPoints no_faults;
  const std::vector<env::FaultPoints*> faults(4, &no_faults);
  SimGroup group({.engine = engine,
                  .timing = timing,
                  .carrier = carrier,
                  .violations = violations,
                  .trace_sink = trace,
                  .policy = policy,
                  .serving = serving},
                 {.rank_count = 4, .traits = {}}, Placement::initial(kShape), faults);
  group_or_null = &group;
  group.resume();
  test::run_all(engine);
  CHECK(serving.steps == 3);
  CHECK(engine.now_ns() == 300);
  CHECK(serving.questions == 3 * 4);
  CHECK(serving.stops == 0);
  CHECK_FALSE(group.in_forward());
  group.resume();
  test::run_all(engine);
  CHECK(serving.steps == 4);
  CHECK(group.rank(RankId{0}).hold_count() == 0);
}

}  // namespace
}  // namespace eplb::sim
