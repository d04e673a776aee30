// Goal: a group serves only once all its ranks are there with the same settings. Method: rank 0 of
// two whose peer comes late, with other settings, or not at all.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::agreement;
using test::BalancerFixture;
using test::kDeadlineNs;

TEST_CASE("a rank reserves a row a slot and its landing rows, and says that it is there") {
  BalancerFixture f;
  CHECK(f.balancer().state() == MigrationState::kStarting);
  REQUIRE(f.environment.memory.layouts.size() == 1);
  CHECK(f.environment.memory.layouts[0].slots_per_rank == 3);
  // An eighth of 9 slots is 2, rounded up, but one layer's slots are the least.
  CHECK(f.environment.memory.layouts[0].landing_rows == 3);
  CHECK(f.environment.memory.layouts[0].row_bytes == std::vector<std::int64_t>{10, 100, 1000});
  REQUIRE(f.environment.control_plane.posts.size() == 1);
  CHECK(f.environment.control_plane.posts[0].key == agreement(0, 0));
  CHECK(f.environment.control_plane.posts[0].state == MigrationState::kStarting);
}

TEST_CASE("the first step holds until all ranks are there") {
  BalancerFixture f;
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kHold);
  Status status = f.environment.control_plane.posts[0];
  status.rank = RankId{1};
  f.environment.control_plane.post_of(status);
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.environment.recorder.closed.size() == 1);
  CHECK(f.balancer().steps_until_rearrangement() == 1);
}

TEST_CASE("warm-up runs before the others are there") {
  BalancerFixture f;
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step(StepKind::kProfile) == StepDecision::kProceed);
}

TEST_CASE("a rank that does not come ends the group") {
  BalancerFixture f;
  f.environment.control_plane.silent_peers = {RankId{1}};
  CHECK(f.step() == StepDecision::kHold);
  f.environment.clock.time_ns = kDeadlineNs;
  CHECK(f.step() == StepDecision::kHold);
  f.environment.clock.time_ns = kDeadlineNs + 1;
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kStatusMissing,
                                              .rank = RankId{1},
                                              .state = MigrationState::kStarting});
}

TEST_CASE("a rank with other settings stops every rank") {
  BalancerFixture f;
  f.environment.control_plane.change_peer = [](Status& status) { status.digest += 1; };
  CHECK(f.step() == StepDecision::kStop);
  CHECK(f.balancer().stop_reason() == Failure{.cause = FailureCause::kSettingsDiffer,
                                              .rank = RankId{1},
                                              .state = MigrationState::kStarting});
}

TEST_CASE("the digest of the settings differs when anything does that ranks must have alike") {
  const auto digest_with = [](const std::function<void(EplbOptions&)>& change) {
    EplbOptions options = test::small_options();
    change(options);
    BalancerFixture f(options);
    (void)f.balancer();
    return f.environment.control_plane.posts.at(0).digest;
  };
  const std::uint64_t plain = digest_with([](EplbOptions&) {});
  CHECK(digest_with([](EplbOptions&) {}) == plain);
  const std::vector<std::function<void(EplbOptions&)>> changes{
      [](EplbOptions& options) { options.window_size = 4; },
      [](EplbOptions& options) { options.step_interval = 9; },
      [](EplbOptions& options) { options.use_async = false; },
      [](EplbOptions& options) { options.policy = "deepseek"; },
      [](EplbOptions& options) { options.window_parts = 2; },
      [](EplbOptions& options) { options.history_parts = 3; },
      [](EplbOptions& options) { options.log_balancedness = true; },
      [](EplbOptions& options) { options.migration_batching_enabled = false; },
      [](EplbOptions& options) { options.handshake = Handshake::kBarriers; },
      [](EplbOptions& options) { options.landing_rows = 4; },
      [](EplbOptions& options) { options.layers_in_flight = 1; },
      [](EplbOptions& options) { options.max_commit_bytes_per_step = 1; },
      [](EplbOptions& options) { options.commit_lead_steps = 1; },
      [](EplbOptions& options) { options.on_failure = OnFailure::kRaise; },
  };
  for (std::size_t change = 0; change < changes.size(); ++change) {
    CAPTURE(change);
    CHECK(digest_with(changes[change]) != plain);
  }
}

TEST_CASE("a rank whose memory refuses is not made, and tells the others") {
  BalancerFixture f;
  f.environment.memory.refuses = true;
  const auto made = Balancer::create(f.settings(), f.environment.environment());
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code == ErrorCode::kResourceExhausted);
  CHECK(
      f.environment.control_plane.ends ==
      std::vector<Failure>{
          {.cause = FailureCause::kMemory, .rank = RankId{0}, .state = MigrationState::kStarting}});
  CHECK(f.environment.control_plane.posts.empty());
}

TEST_CASE("settings that cannot work are refused before anything is reserved") {
  BalancerFixture f;
  const auto refused = [&](const std::function<void(Balancer::Settings&)>& change) {
    Balancer::Settings settings = f.settings();
    change(settings);
    const auto made = Balancer::create(settings, f.environment.environment());
    const bool names_it = !made.has_value() && (made.error().code == ErrorCode::kInvalidArgument ||
                                                made.error().code == ErrorCode::kInvalidConfig);
    return names_it && f.environment.memory.layouts.empty();
  };
  const std::vector<std::function<void(Balancer::Settings&)>> changes{
      [](Balancer::Settings& settings) { settings.shape.expert_count = 5; },
      [](Balancer::Settings& settings) { settings.options.window_size = 0; },
      [](Balancer::Settings& settings) { settings.options.window_parts = 4; },
      [](Balancer::Settings& settings) { settings.options.step_interval = 0; },
      [](Balancer::Settings& settings) { settings.options.history_parts = 0; },
      [](Balancer::Settings& settings) { settings.options.log_balancedness_interval = 0; },
      [](Balancer::Settings& settings) { settings.options.commit_lead_steps = -1; },
      [](Balancer::Settings& settings) { settings.options.commit_lead_steps = 33; },
      [](Balancer::Settings& settings) { settings.options.deadline_ms = 0; },
      [](Balancer::Settings& settings) { settings.options.layers_in_flight = 0; },
      [](Balancer::Settings& settings) { settings.options.max_commit_bytes_per_step = 0; },
      [](Balancer::Settings& settings) { settings.options.landing_rows = 2; },
      [](Balancer::Settings& settings) { settings.row_bytes.pop_back(); },
      [](Balancer::Settings& settings) { settings.topology = BalancerFixture::topology_of(3); },
      [](Balancer::Settings& settings) {
        settings.shape.rank_count = 1;
        settings.topology = BalancerFixture::topology_of(1);
      },
  };
  for (std::size_t change = 0; change < changes.size(); ++change) {
    CAPTURE(change);
    CHECK(refused(changes[change]));
  }
}

TEST_CASE("a snapshot of another shape is refused") {
  BalancerFixture f;
  Shape other = f.shape;
  other.layer_count = 2;
  const auto made = Balancer::join(
      f.settings(), f.environment.environment(),
      Balancer::Snapshot{.placement = Placement::initial(other), .epochs = {0, 0}, .history = {}});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace eplb
