// Goal: whole groups do in the same step the same thing for the same reason, and never serve a slot
// that does not hold its expert. Method: real balancers of all ranks in one world without delays,
// which checks contents and agreement after each step; ranks that stall, fail, leave and join.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "balancer_fixture.hpp"
#include "immediate_group.hpp"
#include "print_vector.hpp"
#include "simple_policies.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;
using test::ImmediateGroup;
using test::InitialPolicy;
using test::kDeadlineNs;
using test::TurningPolicy;

constexpr Shape kShape{
    .layer_count = 5, .expert_count = 6, .redundant_slot_count = 3, .rank_count = 3};

EplbOptions group_options() {
  EplbOptions options = test::small_options();
  options.num_redundant_experts = kShape.redundant_slot_count;
  options.history_parts = 8;
  options.commit_lead_steps = 2;
  return options;
}

Balancer::Settings settings_of(const EplbOptions& options, const Shape& shape = kShape) {
  return {.options = options,
          .shape = shape,
          .topology = BalancerFixture::topology_of(shape.rank_count),
          .row_bytes = std::vector<std::int64_t>(static_cast<std::size_t>(shape.layer_count), 64)};
}

/// Steps until a rearrangement more has ended.
const Rearrangement& next_rearrangement(ImmediateGroup& group) {
  const std::size_t before = group.balancer(0).rearrangements().size();
  for (int step = 0; group.balancer(0).rearrangements().size() == before; ++step) {
    REQUIRE(step < 60);
    group.steps(1);
  }
  return group.balancer(0).rearrangements().back();
}

TEST_CASE(
    "rearrangements on end bring every slot its expert, by every transport, handshake and pace") {
  const TurningPolicy policy;
  for (const auto side :
       {env::TransferSide::kSender, env::TransferSide::kReceiver, env::TransferSide::kBoth}) {
    for (const Handshake handshake : {Handshake::kStatuses, Handshake::kBarriers}) {
      for (const std::int32_t lead : {0, 1, 2, -1}) {
        CAPTURE(lead);
        EplbOptions options = group_options();
        options.handshake = handshake;
        options.use_async = lead >= 0;
        options.commit_lead_steps = std::max(lead, 0);
        ImmediateGroup group(kShape, policy, side);
        group.start(settings_of(options));
        for (int rearrangement = 1; rearrangement <= 3; ++rearrangement) {
          const Rearrangement& ended = next_rearrangement(group);
          CHECK_FALSE(ended.abort);
          CHECK(ended.committed_layers == 5);
          CHECK(group.balancer(2).epoch(LayerId{4}) == rearrangement);
        }
        const LogicalExpertId third =
            group.balancer(1).placement().layer(LayerId{0}).occupant(SlotId{0});
        CHECK(third == LogicalExpertId{3});
      }
    }
  }
}

TEST_CASE("fault points change nothing but the time and the way") {
  const TurningPolicy policy;
  for (int point = 0; point < env::kFaultPointCount; ++point) {
    const auto fault = static_cast<env::FaultPoint>(point);
    if (fault == env::FaultPoint::kShortDeadline || fault == env::FaultPoint::kSkippedPoll) {
      continue;  // Firing at each visit, these leave nothing to happen.
    }
    CAPTURE(point);
    ImmediateGroup group(kShape, policy);
    for (const auto& rank : group.ranks) {
      rank->faults.firing = {fault};
    }
    group.start(settings_of(group_options()));
    for (int rearrangement = 0; rearrangement < 2; ++rearrangement) {
      CHECK(next_rearrangement(group).committed_layers == 5);
    }
  }
}

TEST_CASE("a rank whose link breaks aborts on all ranks in the same step, and is not the end") {
  const TurningPolicy policy;
  ImmediateGroup group(kShape, policy);
  group.start(settings_of(group_options()));
  group.ranks[1]->transport.broken = true;
  const Rearrangement aborted = next_rearrangement(group);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(group.balancer(rank).rearrangements().back().abort ==
          Failure{.cause = FailureCause::kTransferFailed,
                  .rank = RankId{1},
                  .state = MigrationState::kMoving,
                  .layer = LayerId{0}});
    CHECK(group.balancer(rank).rearrangements().back().end_step == aborted.end_step);
  }
  group.ranks[1]->transport.broken = false;
  CHECK(next_rearrangement(group).committed_layers == 5);
}

TEST_CASE("a failure is raised on all ranks in the same step") {
  const TurningPolicy policy;
  EplbOptions options = group_options();
  options.on_failure = OnFailure::kRaise;
  ImmediateGroup group(kShape, policy);
  group.start(settings_of(options));
  group.ranks[1]->transport.broken = true;
  group.steps(2);
  // The plan and the failure come before the first status, which is decided two steps later.
  group.steps(2);
  CHECK(group.step() == StepDecision::kStop);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(group.balancer(rank).stop_reason() == Failure{.cause = FailureCause::kTransferFailed,
                                                        .rank = RankId{1},
                                                        .state = MigrationState::kMoving,
                                                        .layer = LayerId{0}});
  }
}

TEST_CASE("a rank whose helper is gone is named by all ranks, wherever its migration stands") {
  // vLLM 57883: without this the others wait in silence for ever.
  const TurningPolicy policy;

  struct Case {
    int steps_before;
    MigrationState state;
  };

  // After two steps the sum is asked for; the immediate world then goes on to moving at once.
  for (const Case& where :
       {Case{1, MigrationState::kAggregating}, Case{3, MigrationState::kMoving}}) {
    CAPTURE(where.steps_before);
    ImmediateGroup group(kShape, policy);
    group.start(settings_of(group_options()));
    group.steps(where.steps_before);
    group.ranks[1]->progresses = false;
    StepDecision decision = StepDecision::kProceed;
    for (int step = 0; step < 60 && decision == StepDecision::kProceed &&
                       group.balancer(0).rearrangements().empty();
         ++step) {
      group.clock.time_ns += kDeadlineNs / 4;
      decision = group.step();
    }
    const bool stopped = decision == StepDecision::kStop;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const Failure& reason = stopped ? group.balancer(rank).stop_reason()
                                      : group.balancer(rank).rearrangements().back().abort;
      CHECK(reason.cause == FailureCause::kDeadline);
      CHECK(reason.rank == RankId{1});
      CHECK(reason.state == where.state);
    }
  }
}

TEST_CASE("a rank that stops stepping ends the group and is named") {
  const TurningPolicy policy;
  for (const bool use_async : {true, false}) {
    CAPTURE(use_async);
    EplbOptions options = group_options();
    options.use_async = use_async;
    ImmediateGroup group(kShape, policy);
    group.start(settings_of(options));
    group.steps(1);
    group.ranks[1]->steps = false;
    group.ranks[1]->progresses = false;
    StepDecision decision = StepDecision::kProceed;
    for (int call = 0; call < 60 && decision != StepDecision::kStop; ++call) {
      group.clock.time_ns += kDeadlineNs / 4;
      decision = group.step();
    }
    CHECK(decision == StepDecision::kStop);
    for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
      CHECK(group.balancer(rank).stop_reason().cause == FailureCause::kStatusMissing);
      CHECK(group.balancer(rank).stop_reason().rank == RankId{1});
    }
  }
}

TEST_CASE("an abort that meets ranks before and after their plans leaves them one history") {
  const TurningPolicy policy;
  ImmediateGroup group(kShape, policy);
  group.start(settings_of(group_options()));
  group.steps(1);
  group.ranks[1]->progresses = false;
  group.steps(1);
  // Rank 1 gives its sum and does no more, so the others have a plan and it has none.
  CHECK(group.balancer(1).progress());
  group.steps(1);
  CHECK(group.balancer(0).state() == MigrationState::kMoving);
  CHECK(group.balancer(1).state() == MigrationState::kAggregating);
  for (const auto& rank : group.ranks) {
    rank->balancer->drain();
  }
  CHECK(next_rearrangement(group).abort.cause == FailureCause::kDrained);
  group.ranks[1]->progresses = true;
  for (const auto& rank : group.ranks) {
    rank->balancer->resume();
  }
  CHECK(next_rearrangement(group).committed_layers == 5);
}

TEST_CASE("a group shrinks and grows again, and each slot holds its expert all the while") {
  const TurningPolicy turning;
  const InitialPolicy initial;
  ImmediateGroup three(kShape, initial);
  three.start(settings_of(group_options()));
  three.steps(10);
  for (const auto& rank : three.ranks) {
    rank->balancer->drain();
  }
  while (!three.balancer(0).drained()) {
    three.steps(1);
  }
  for (const auto& rank : three.ranks) {
    REQUIRE(rank->balancer->vacate({RankId{0}, RankId{2}}, BalancerFixture::topology_of(2))
                .has_value());
  }
  three.steps(1);
  CHECK(three.balancer(1).placement().layer(LayerId{0}).on_rank(RankId{1}).front() == kNoExpert);

  const RankMapping down{RankId{0}, RankId{-1}, RankId{1}};
  Shape two_ranks = kShape;
  two_ranks.rank_count = 2;
  two_ranks.redundant_slot_count = 0;
  ImmediateGroup two(two_ranks, turning);
  for (const auto& [old_rank, new_rank] :
       {std::pair<std::size_t, std::size_t>{0, 0}, std::pair<std::size_t, std::size_t>{2, 1}}) {
    two.ranks[new_rank]->balancer = std::move(three.ranks[old_rank]->balancer);
    REQUIRE(two.balancer(new_rank)
                .rescale(two.environment(new_rank), down, BalancerFixture::topology_of(2))
                .has_value());
    two.balancer(new_rank).resume();
  }
  two.rows.load(two.balancer(0).placement());
  two.steps(1);
  // Every third layer is turned by a whole round.
  CHECK(two.balancer(0).rearrangements().back().committed_layers > 0);
  CHECK_FALSE(two.balancer(0).rearrangements().back().abort);

  for (const auto& rank : two.ranks) {
    rank->balancer->drain();
  }
  while (!two.balancer(0).drained()) {
    two.steps(1);
  }
  const RankMapping up{RankId{0}, RankId{1}};
  ImmediateGroup again(kShape, turning);
  auto snapshot = two.balancer(0).snapshot_for(up, 3).value();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    again.ranks[rank]->balancer = std::move(two.ranks[rank]->balancer);
    REQUIRE(again.balancer(rank)
                .rescale(again.environment(rank), up, BalancerFixture::topology_of(3))
                .has_value());
    again.balancer(rank).resume();
  }
  again.rows.load(snapshot.placement);
  again.ranks[2]->balancer =
      Balancer::join(settings_of(group_options()), again.environment(2), std::move(snapshot))
          .value();
  again.steps(1);
  CHECK(again.balancer(2).rearrangements().back().committed_layers > 0);
  CHECK(again.balancer(2).placement().layer(LayerId{0}).on_rank(RankId{2}).front() != kNoExpert);
  CHECK_FALSE(next_rearrangement(again).abort);
}

}  // namespace
}  // namespace eplb
