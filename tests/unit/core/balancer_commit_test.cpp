// Goal: layers are committed by what all ranks posted `lead` steps ago and by nothing else, as many
// in a step as are complete and fit its bounds. Method: rank 0 of two, its peer's statuses in the
// test's hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::agreement;
using test::BalancerFixture;
using test::landing_row;
using test::slot_row;
using Published = std::vector<std::pair<std::int32_t, std::int64_t>>;

EplbOptions with_lead(std::int32_t lead) {
  EplbOptions options = test::small_options();
  options.commit_lead_steps = lead;
  return options;
}

/// Steps until `layer_count` layers are committed.
int steps_to_commit(BalancerFixture& f, std::int64_t layer_count) {
  int count = 0;
  while (f.balancer().committed_layer_count() < layer_count) {
    REQUIRE(count < 20);
    f.steps(1);
    f.settle();
    ++count;
  }
  return count;
}

TEST_CASE("a layer commits in the step that decides on the statuses of exactly lead steps ago") {
  for (const std::int32_t lead : {0, 1, 2}) {
    CAPTURE(lead);
    BalancerFixture f(with_lead(lead));
    f.ask_for_plan();
    f.answer(BalancerFixture::exchanged());
    f.steps(lead);
    CHECK(f.environment.publisher.published.empty());
    f.steps(1);
    CHECK(f.environment.publisher.published == Published{{0, 1}, {1, 1}, {2, 1}});
    CHECK(f.balancer().placement() == BalancerFixture::exchanged());
    CHECK(f.balancer().epoch(LayerId{1}) == 1);
  }
}

TEST_CASE("what a rank has landed since its status of that step does not count") {
  BalancerFixture f(with_lead(1));
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.steps(1);
  f.environment.transport.tickets.done_value = 2;
  f.settle();
  f.steps(1);
  CHECK(f.environment.publisher.published.empty());
  f.steps(1);
  CHECK(f.environment.publisher.published == Published{{0, 1}, {1, 1}});
}

TEST_CASE("a rank holds when a status is later than its lead, and only then") {
  BalancerFixture f(with_lead(2));
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  f.environment.control_plane.silent_peers = {RankId{1}};
  f.steps(2);
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.step() == StepDecision::kHold);
  CHECK(f.environment.publisher.published.empty());
  // Held calls neither post nor end a step.
  CHECK(f.environment.control_plane.posts.back().key == agreement(1, 2));
  CHECK(f.balancer().steps_until_rearrangement() == 5);
  Status status = f.environment.control_plane.posts[1];
  CHECK(status.key == agreement(1, 0));
  status.rank = RankId{1};
  f.environment.control_plane.post_of(status);
  CHECK(f.step() == StepDecision::kProceed);
  CHECK(f.environment.publisher.published.size() == 3);
}

TEST_CASE("a layer commits as soon as the last rank has posted it complete, not before") {
  BalancerFixture f;
  f.ask_for_plan();
  std::int32_t peer_landed = 0;
  f.environment.control_plane.change_peer = [&](Status& status) {
    status.landed_layers = std::min(status.landed_layers, peer_landed);
  };
  f.answer(BalancerFixture::exchanged());
  f.steps(3);
  CHECK(f.environment.publisher.published.empty());
  peer_landed = 1;
  f.steps(1);
  CHECK(f.environment.publisher.published == Published{{0, 1}});
  peer_landed = 3;
  f.steps(1);
  CHECK(f.environment.publisher.published == Published{{0, 1}, {1, 1}, {2, 1}});
}

TEST_CASE("a commit waits for this rank's own copies, then empties the landing rows in one go") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::swapped());
  // [0, 1, 2 | 3, 0, 1] to [3, 0, 1 | 0, 1, 2]: expert 3 comes from rank 1 into landing row 0, then
  // this rank's own 0 and 1 into rows 1 and 2.
  REQUIRE(f.environment.transport.copies.size() == 1);
  CHECK(f.environment.transport.copies[0] ==
        std::vector<RowCopy>{{.source = slot_row(0, 0, 2), .destination = landing_row(1, 0)}});
  REQUIRE(f.environment.migration.copies.size() == 1);
  CHECK(f.environment.migration.copies[0] ==
        std::vector<RowCopy>{{.source = slot_row(0, 0, 0), .destination = landing_row(0, 1)},
                             {.source = slot_row(0, 0, 1), .destination = landing_row(0, 2)}});
  CHECK(f.environment.forward.copies.empty());
  f.steps(1);
  CHECK(f.environment.forward.waits ==
        std::vector<test::ScriptedQueue::Wait>{{.other = &f.environment.migration, .ticket = 1}});
  REQUIRE(f.environment.forward.copies.size() == 1);
  CHECK(f.environment.forward.copies[0] ==
        std::vector<RowCopy>{{.source = landing_row(0, 0), .destination = slot_row(0, 0, 0)},
                             {.source = landing_row(0, 1), .destination = slot_row(0, 0, 1)},
                             {.source = landing_row(0, 2), .destination = slot_row(0, 0, 2)}});
  CHECK(f.environment.publisher.maps.at(0) ==
        LayerMap::from(BalancerFixture::swapped().layer(LayerId{0})));
  f.settle();
  f.steps(1);
  CHECK(f.environment.forward.waits.back().ticket == 2);
}

TEST_CASE("a layer that needs another's landing rows starts when all ranks have emptied them") {
  BalancerFixture f;
  f.environment.forward.tickets.held_back = true;
  f.environment.control_plane.peers_retired = 0;
  f.ask_for_plan();
  f.answer(BalancerFixture::swapped());
  f.steps(1);
  f.settle();
  CHECK(f.environment.publisher.published == Published{{0, 1}});
  CHECK(f.environment.transport.copies.size() == 1);
  f.environment.forward.tickets.done_value = 1;
  f.settle();
  CHECK(f.environment.control_plane.own_retired.at(1) == 1);
  CHECK(f.environment.transport.copies.size() == 1);
  f.environment.control_plane.peers_retired = 1;
  f.settle();
  CHECK(f.environment.transport.copies.size() == 2);
  f.steps(1);
  CHECK(f.environment.publisher.published == Published{{0, 1}, {1, 1}});
}

TEST_CASE("several layers in flight commit in one step, and the rearrangement ends when retired") {
  BalancerFixture f;
  f.environment.forward.tickets.held_back = true;
  f.ask_for_plan();
  f.environment.clock.time_ns = 50;
  f.answer(BalancerFixture::exchanged());
  CHECK(f.environment.transport.copies.size() == 3);
  f.steps(1);
  CHECK(f.environment.publisher.published.size() == 3);
  CHECK(f.environment.forward.copies.size() == 1);
  f.settle();
  f.steps(2);
  CHECK(f.balancer().rearrangements().empty());
  f.environment.forward.tickets.held_back = false;
  f.settle();
  f.steps(1);
  REQUIRE(f.balancer().rearrangements().size() == 1);
  const Rearrangement& rearrangement = f.balancer().rearrangements()[0];
  CHECK(rearrangement.start_step == 1);
  CHECK(rearrangement.end_step == 2);
  CHECK(rearrangement.start_ns == 0);
  CHECK(rearrangement.end_ns == 50);
  CHECK(rearrangement.moved_experts == 6);
  CHECK(rearrangement.committed_layers == 3);
  CHECK_FALSE(rearrangement.abort);
  CHECK(f.balancer().state() == MigrationState::kIdle);
}

TEST_CASE("a rearrangement ends when the last rank has retired everything, be it this one") {
  for (const bool peer_is_last : {false, true}) {
    CAPTURE(peer_is_last);
    BalancerFixture f;
    f.ask_for_plan();
    f.answer(BalancerFixture::exchanged());
    f.environment.forward.tickets.held_back = !peer_is_last;
    f.environment.control_plane.change_peer = [&](Status& status) {
      status.retired_layers = peer_is_last ? 2 : 3;
    };
    f.steps(1);
    f.settle();
    f.steps(2);
    CHECK(f.balancer().rearrangements().empty());
    f.environment.forward.tickets.held_back = false;
    f.environment.control_plane.change_peer = nullptr;
    f.settle();
    f.steps(1);
    CHECK(f.balancer().rearrangements().size() == 1);
  }
}

TEST_CASE("layers that do not change are skipped, unless the fault point moves them too") {
  const Placement after =
      Placement::initial(BalancerFixture::kShape)
          .with_layer(LayerId{1}, BalancerFixture::exchanged().layer(LayerId{1}));
  for (const bool every_layer : {false, true}) {
    CAPTURE(every_layer);
    BalancerFixture f;
    if (every_layer) {
      f.environment.faults.firing = {env::FaultPoint::kEveryLayer};
    }
    f.ask_for_plan();
    f.answer(after);
    f.steps(1);
    CHECK(f.environment.publisher.published ==
          (every_layer ? Published{{0, 1}, {1, 1}, {2, 1}} : Published{{1, 1}}));
    CHECK(f.environment.transport.copies.size() == 1);
    CHECK(f.balancer().placement() == after);
  }
}

TEST_CASE("two rearrangements on end bring every slot where the plan wants it") {
  BalancerFixture f;
  f.ask_for_plan();
  f.answer(BalancerFixture::swapped());
  CHECK(steps_to_commit(f, 3) == 3);
  CHECK(f.balancer().placement() == BalancerFixture::swapped());
  while (f.environment.planner.requests.size() < 2) {
    f.steps(1);
    f.settle();
  }
  CHECK(*f.environment.planner.requests[1].current == BalancerFixture::swapped());
  f.answer(BalancerFixture::exchanged());
  steps_to_commit(f, 6);
  CHECK(f.balancer().placement() == BalancerFixture::exchanged());
  CHECK(f.balancer().epoch(LayerId{2}) == 2);
}

TEST_CASE("a status that is posted twice and a poll that is put off change nothing but the time") {
  BalancerFixture f(with_lead(1));
  f.ask_for_plan();
  f.environment.faults.firing = {env::FaultPoint::kRepeatedStatus, env::FaultPoint::kSkippedPoll};
  f.answer(BalancerFixture::exchanged());
  f.steps(3);
  CHECK(f.environment.publisher.published.empty());
  CHECK(f.environment.transport.copies.size() == 2);
  f.environment.faults.firing = {env::FaultPoint::kRepeatedStatus};
  f.settle();
  f.steps(2);
  CHECK(f.environment.publisher.published.size() == 3);
  const auto& posts = f.environment.control_plane.posts;
  // The start-up status came before the point fired; each later one twice.
  REQUIRE(posts.size() == 11);
  CHECK(posts[9] == posts[10]);
  CHECK(posts[10].key == agreement(1, 4));
}

}  // namespace
}  // namespace eplb
