// Goal: a rank starts its copies in the schedule's order, at most two batches at a time, between
// the barriers where they are asked for, and knows what has landed. Method: an outbox of rank 0 of
// two on scripted devices.
#include "outbox.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "balancer_fixture.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;
using test::landing_row;
using test::slot_row;
using Copies = std::vector<std::vector<RowCopy>>;

constexpr std::int64_t kRearrangement = 7;

RoundKey barrier(std::int64_t round) {
  return {.channel = RoundKey::Channel::kBarrier, .rearrangement = kRearrangement, .round = round};
}

struct OutboxFixture {
  explicit OutboxFixture(const Placement& after, Handshake handshake = Handshake::kStatuses,
                         env::TransferSide side = env::TransferSide::kSender,
                         std::int32_t layers_in_flight = 100) {
    environment.transport.side = side;
    environment.transport.tickets.held_back = true;
    schedule = std::make_shared<const MigrationSchedule>(
        schedule_migration(Placement::initial(BalancerFixture::kShape), after,
                           {.landing_rows = 3, .row_bytes = {10, 100, 1000}}));
    outbox = std::make_unique<Outbox>(
        Outbox::Options{
            .rank_count = 2, .handshake = handshake, .layers_in_flight = layers_in_flight},
        environment.environment());
    outbox->load(schedule, kRearrangement);
  }

  /// Barriers at which this rank has arrived.
  [[nodiscard]] std::vector<std::int64_t> arrivals() const {
    std::vector<std::int64_t> rounds;
    for (const Status& status : environment.control_plane.posts) {
      CHECK(status.key == barrier(status.key.round));
      rounds.push_back(status.key.round);
    }
    return rounds;
  }

  test::ScriptedEnvironment environment{RankId{0}, 2};
  std::shared_ptr<const MigrationSchedule> schedule;
  std::unique_ptr<Outbox> outbox;
};

TEST_CASE("two batches fly at once, and the next starts when the first has landed") {
  OutboxFixture f(BalancerFixture::exchanged());
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->start_next(0));
  CHECK_FALSE(f.outbox->start_next(0));
  CHECK(f.environment.transport.copies ==
        Copies{{{.source = slot_row(0, 0, 2), .destination = landing_row(1, 0)}},
               {{.source = slot_row(1, 0, 2), .destination = landing_row(1, 1)}}});
  CHECK(f.outbox->front_layer() == LayerId{0});
  CHECK_FALSE(f.outbox->poll());
  f.environment.transport.tickets.done_value = 1;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->landed_layers() == 1);
  CHECK(f.outbox->front_layer() == LayerId{1});
  CHECK(f.outbox->start_next(0));
  CHECK(f.environment.transport.copies.size() == 3);
  f.environment.transport.tickets.held_back = false;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->landed_layers() == 3);
  CHECK(f.outbox->front_layer() == LayerId{-1});
  CHECK(f.outbox->drained());
}

TEST_CASE("a batch that lands before an earlier one counts when that one has landed too") {
  OutboxFixture f(BalancerFixture::exchanged());
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->start_next(0));
  f.environment.transport.tickets.failed = {2};
  CHECK_FALSE(f.outbox->poll());
  CHECK(f.outbox->landed_layers() == 0);
  CHECK_FALSE(f.outbox->failed_layer().has_value());
  f.environment.transport.tickets.done_value = 1;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->failed_layer() == LayerId{1});
  CHECK(f.outbox->landed_layers() == 1);
  CHECK(f.outbox->drained());
  CHECK_FALSE(f.outbox->start_next(3));
}

TEST_CASE("a batch that could not be started does not make one land that is still under way") {
  OutboxFixture f(BalancerFixture::exchanged());
  CHECK(f.outbox->start_next(0));
  f.environment.transport.refuses = true;
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->failed_layer() == LayerId{1});
  CHECK(f.outbox->landed_layers() == 0);
  CHECK_FALSE(f.outbox->drained());
  f.environment.transport.tickets.failed = {1};
  CHECK(f.outbox->poll());
  CHECK(f.outbox->failed_layer() == LayerId{0});
  CHECK(f.outbox->landed_layers() == 0);
  CHECK(f.outbox->drained());
}

TEST_CASE("a pull starts what comes, a push what goes, a pair both") {
  const RowCopy goes{.source = slot_row(0, 0, 2), .destination = landing_row(1, 0)};
  const RowCopy comes{.source = slot_row(0, 1, 0), .destination = landing_row(0, 0)};
  const auto started = [](env::TransferSide side) {
    OutboxFixture f(BalancerFixture::exchanged(), Handshake::kStatuses, side);
    CHECK(f.outbox->start_next(0));
    return f.environment.transport.copies;
  };
  CHECK(started(env::TransferSide::kSender) == Copies{{goes}});
  CHECK(started(env::TransferSide::kReceiver) == Copies{{comes}});
  CHECK(started(env::TransferSide::kBoth) == Copies{{goes, comes}});
}

TEST_CASE("a layer starts only when the layers whose rows it takes have retired everywhere") {
  OutboxFixture f(BalancerFixture::swapped());
  CHECK(f.outbox->start_next(0));  // Its own rows.
  CHECK(f.outbox->start_next(0));  // What crosses.
  f.environment.transport.tickets.held_back = false;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->landed_layers() == 1);
  CHECK_FALSE(f.outbox->start_next(0));
  CHECK(f.outbox->blocked_by_commits(0));
  CHECK_FALSE(f.outbox->blocked_by_commits(1));
  CHECK(f.outbox->start_next(1));
}

TEST_CASE("with a limit of layers in flight the next starts when one has landed") {
  OutboxFixture f(BalancerFixture::exchanged(), Handshake::kStatuses, env::TransferSide::kSender,
                  1);
  CHECK(f.outbox->start_next(0));
  CHECK_FALSE(f.outbox->start_next(0));
  f.environment.transport.tickets.done_value = 1;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->start_next(0));
}

TEST_CASE("a rank's own copies count as landed when queued, and drain when they have run") {
  // Only rank 0 changes, within itself: [0, 1, 2] to [1, 0, 2].
  OutboxFixture f(test::placement_of(BalancerFixture::kShape, {1, 0, 2, 3, 0, 1}));
  f.environment.migration.tickets.held_back = true;
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->landed_layers() == 1);
  CHECK_FALSE(f.outbox->waits_for_landing());
  CHECK_FALSE(f.outbox->drained());
  CHECK(f.outbox->local_copies_of(1).value == 1);
  // Layer 1 takes a row that layer 0 still holds.
  CHECK_FALSE(f.outbox->start_next(0));
  CHECK(f.outbox->start_next(1));
  CHECK(f.outbox->local_copies_of(1).value == 1);
  CHECK(f.outbox->local_copies_of(2).value == 2);
  CHECK(f.outbox->local_copies_of(3).value == 2);
  f.environment.migration.tickets.done_value = 2;
  CHECK(f.outbox->drained());
}

TEST_CASE("a rank with nothing to start has landed everything") {
  // Rank 1 alone changes, within itself.
  OutboxFixture f(test::placement_of(BalancerFixture::kShape, {0, 1, 2, 0, 3, 1}));
  CHECK(f.outbox->landed_layers() == 3);
  CHECK(f.outbox->blocked_by_commits(0));
  CHECK_FALSE(f.outbox->start_next(0));
}

TEST_CASE("with barriers each execute stands between two arrivals of all ranks") {
  OutboxFixture f(BalancerFixture::exchanged(), Handshake::kBarriers);
  f.environment.control_plane.silent_peers = {RankId{1}};
  for (std::int64_t execute = 0; execute < 3; ++execute) {
    CAPTURE(execute);
    const auto started = static_cast<std::size_t>(execute);
    CHECK(f.outbox->start_next(0));
    CHECK(f.arrivals().back() == 2 * execute);
    CHECK_FALSE(f.outbox->start_next(0));
    CHECK(f.environment.transport.copies.size() == started);
    f.environment.control_plane.post_of({.rank = RankId{1}, .key = barrier(2 * execute)});
    CHECK(f.outbox->start_next(0));
    CHECK(f.environment.transport.copies.size() == started + 1);
    CHECK_FALSE(f.outbox->start_next(0));
    f.environment.transport.tickets.done_value = execute + 1;
    CHECK(f.outbox->poll());
    CHECK(f.outbox->start_next(0));
    CHECK(f.arrivals().back() == 2 * execute + 1);
    CHECK_FALSE(f.outbox->start_next(0));
    CHECK(f.outbox->landed_layers() == execute);
    f.environment.control_plane.post_of({.rank = RankId{1}, .key = barrier(2 * execute + 1)});
    CHECK(f.outbox->start_next(0));
    CHECK(f.outbox->landed_layers() == execute + 1);
  }
  CHECK(f.arrivals() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  CHECK_FALSE(f.outbox->start_next(0));
}

TEST_CASE("with barriers a rank runs executes in which it has no part") {
  // Rank 1 receives expert 2 in its slot 1; rank 0 has no part in a pull.
  OutboxFixture f(test::placement_of(BalancerFixture::kShape, {0, 1, 2, 3, 2, 1}),
                  Handshake::kBarriers, env::TransferSide::kReceiver);
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->start_next(0));
  CHECK(f.environment.transport.copies == Copies{{}});
  f.environment.transport.tickets.held_back = false;
  CHECK(f.outbox->poll());
  CHECK(f.outbox->start_next(0));
  CHECK(f.arrivals() == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("with barriers a batch that could not be started fails its layer and arrives no more") {
  OutboxFixture f(BalancerFixture::exchanged(), Handshake::kBarriers);
  f.environment.transport.refuses = true;
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->failed_layer() == LayerId{0});
  CHECK_FALSE(f.outbox->start_next(0));
  CHECK(f.arrivals() == std::vector<std::int64_t>{0});
  CHECK(f.outbox->drained());
}

TEST_CASE("a new schedule begins from nothing") {
  OutboxFixture f(BalancerFixture::exchanged());
  f.environment.transport.refuses = true;
  CHECK(f.outbox->start_next(0));
  CHECK(f.outbox->failed_layer() == LayerId{0});
  f.environment.transport.refuses = false;
  f.outbox->load(f.schedule, kRearrangement + 1);
  CHECK_FALSE(f.outbox->failed_layer().has_value());
  CHECK(f.outbox->landed_layers() == 0);
  CHECK(f.outbox->start_next(0));
  CHECK(f.environment.transport.copies.size() == 1);
}

}  // namespace
}  // namespace eplb
