// Goal: rows come across, pairs meet by their copy, and what was ordered ends in one way only.
// Method: three ranks with a landing row each, transfers of 100 ns, both sides ordered by hand.
#include "eplb/sim/group/transport.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

#include "fixed_timing.hpp"
#include "rows.hpp"

namespace eplb::sim {
namespace {

using env::Completion;
using test::landing_row;
using test::weights_row;

struct World {
  EventEngine engine;
  Violations violations;
  RowStore rows{engine, violations, 3};
  test::FixedTiming timing;
  FlightCarrier carrier{engine, timing};
  SimWire wire{engine, rows, carrier};
  std::array<test::CountingHost, 3> hosts;
  std::vector<std::unique_ptr<SimTransport>> ends;

  explicit World(env::TransferSide side) {
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      rows.reserve(RankId{rank}, {.slots_per_rank = 1, .landing_rows = 2, .row_bytes = {1000}});
      rows.set(weights_row(rank, 0, 0), {.layer = 0, .expert = rank, .version = 1});
      ends.push_back(
          std::make_unique<SimTransport>(wire, timing, hosts.at(static_cast<std::size_t>(rank)),
                                         RankId{rank}, env::TransportTraits{.side = side}));
    }
  }

  [[nodiscard]] env::Ticket start(std::size_t rank, const std::vector<RowCopy>& copies) {
    return ends[rank]->start(copies).value();
  }

  [[nodiscard]] std::int32_t landed_expert(std::int32_t rank, std::int32_t row) const {
    return rows.content(landing_row(rank, row)).expert;
  }
};

/// From a rank's only slot.
RowCopy copy_of(std::int32_t from, std::int32_t to, std::int32_t row) {
  return {.source = weights_row(from, 0, 0), .destination = landing_row(to, row)};
}

TEST_CASE("one end is enough for a push and for a pull") {
  for (const env::TransferSide side : {env::TransferSide::kSender, env::TransferSide::kReceiver}) {
    World world(side);
    CHECK(world.ends[0]->traits().side == side);
    const env::Ticket ticket = world.start(0, {copy_of(0, 1, 0)});
    CHECK(world.ends[0]->poll(ticket) == Completion::kPending);
    test::run_all(world.engine);
    CHECK(world.engine.now_ns() == 100);
    CHECK(world.ends[0]->poll(ticket) == Completion::kDone);
    CHECK(world.landed_expert(1, 0) == 0);
    CHECK(world.hosts[0].wake_count == 1);
    CHECK(world.hosts[1].wake_count == 0);
    CHECK(world.wire.busy_ns() == 100);
  }
}

TEST_CASE("the ends of a pair meet by their copy, in whichever order they come") {
  World world(env::TransferSide::kBoth);
  const env::Ticket sent = world.start(0, {copy_of(0, 1, 0), copy_of(0, 2, 0), copy_of(0, 1, 1)});
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 0);
  const env::Ticket second = world.start(2, {copy_of(0, 2, 0)});
  test::run_all(world.engine);
  CHECK(world.ends[2]->poll(second) == Completion::kDone);
  CHECK(world.landed_expert(2, 0) == 0);
  CHECK(world.landed_expert(1, 0) == -1);
  CHECK(world.ends[0]->poll(sent) == Completion::kPending);
  const env::Ticket first = world.start(1, {copy_of(0, 1, 1), copy_of(0, 1, 0)});
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 200);
  CHECK(world.ends[1]->poll(first) == Completion::kDone);
  CHECK(world.ends[0]->poll(sent) == Completion::kDone);
  CHECK(world.landed_expert(1, 0) == 0);
  CHECK(world.landed_expert(1, 1) == 0);
  CHECK(world.hosts[0].wake_count == 1);
}

TEST_CASE("an end that orders the same copy twice does not meet itself") {
  World world(env::TransferSide::kBoth);
  const env::Ticket first = world.start(0, {copy_of(0, 1, 0)});
  const env::Ticket again = world.start(0, {copy_of(0, 1, 0)});
  test::run_all(world.engine);
  CHECK(world.ends[0]->poll(first) == Completion::kPending);
  CHECK(world.ends[0]->poll(again) == Completion::kPending);
}

TEST_CASE("cancel ends only orders whose other end is missing, and only the caller's") {
  World world(env::TransferSide::kBoth);
  const env::Ticket met = world.start(0, {copy_of(0, 1, 0)});
  const env::Ticket peer = world.start(1, {copy_of(0, 1, 0)});
  const env::Ticket lonely = world.start(0, {copy_of(0, 2, 0)});
  const env::Ticket other = world.start(1, {copy_of(1, 2, 1)});
  world.ends[0]->cancel();
  CHECK(world.ends[0]->poll(met) == Completion::kPending);
  CHECK(world.ends[0]->poll(lonely) == Completion::kFailed);
  CHECK(world.ends[1]->poll(other) == Completion::kPending);
  test::run_all(world.engine);
  CHECK(world.ends[0]->poll(met) == Completion::kDone);
  CHECK(world.ends[1]->poll(peer) == Completion::kDone);
  // What was given up is forgotten: its late other end waits for ever.
  const env::Ticket late = world.start(2, {copy_of(0, 2, 0)});
  test::run_all(world.engine);
  CHECK(world.ends[2]->poll(late) == Completion::kPending);
}

TEST_CASE("a ticket is done when the last of its copies has ended") {
  World world(env::TransferSide::kSender);
  const env::Ticket ticket = world.start(0, {copy_of(0, 1, 0)});
  world.timing.wire_ns = 250;
  const env::Ticket slow = world.start(1, {copy_of(1, 2, 0), copy_of(1, 0, 0)});
  REQUIRE(world.engine.run_next());
  CHECK(world.ends[0]->poll(ticket) == Completion::kDone);
  REQUIRE(world.engine.run_next());
  CHECK(world.engine.now_ns() == 250);
  CHECK(world.ends[1]->poll(slow) == Completion::kPending);
  REQUIRE(world.engine.run_next());
  CHECK(world.ends[1]->poll(slow) == Completion::kDone);
  CHECK(world.wire.busy_ns() == 250);
}

TEST_CASE("an empty batch is done at once") {
  World world(env::TransferSide::kSender);
  CHECK(world.ends[0]->poll(world.start(0, {})) == Completion::kDone);
}

TEST_CASE("one failed copy fails its ticket, when the last has ended, and lands nothing") {
  World world(env::TransferSide::kSender);
  world.timing.transfer_fails = [](const RowCopy& copy) { return copy == copy_of(0, 1, 0); };
  const env::Ticket ticket = world.start(0, {copy_of(0, 1, 0), copy_of(0, 2, 0)});
  const env::Ticket next = world.start(0, {copy_of(0, 1, 1)});
  REQUIRE(world.engine.run_next());
  CHECK(world.ends[0]->poll(ticket) == Completion::kPending);
  test::run_all(world.engine);
  CHECK(world.ends[0]->poll(ticket) == Completion::kFailed);
  CHECK(world.ends[0]->poll(next) == Completion::kDone);
  CHECK(world.landed_expert(1, 0) == -1);
  CHECK(world.landed_expert(2, 0) == 0);
}

TEST_CASE("both ends of a failed pair hear of it") {
  World world(env::TransferSide::kBoth);
  world.timing.transfer_fails = [](const RowCopy&) { return true; };
  const env::Ticket sent = world.start(0, {copy_of(0, 1, 0)});
  const env::Ticket received = world.start(1, {copy_of(0, 1, 0)});
  test::run_all(world.engine);
  CHECK(world.ends[0]->poll(sent) == Completion::kFailed);
  CHECK(world.ends[1]->poll(received) == Completion::kFailed);
}

TEST_CASE("a transport that refuses starts nothing") {
  World world(env::TransferSide::kSender);
  world.timing.refusing_transport = RankId{0};
  const auto refused = world.ends[0]->start(std::vector{copy_of(0, 1, 0)});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kDevice);
  CHECK(world.engine.pending_count() == 0);
  CHECK(world.ends[1]->poll(world.start(1, {copy_of(1, 0, 0)})) == Completion::kPending);
}

TEST_CASE("rows to and from a lost rank never land, those on their way neither") {
  World world(env::TransferSide::kSender);
  const env::Ticket under_way = world.start(0, {copy_of(0, 1, 0)});
  const env::Ticket others = world.start(0, {copy_of(0, 2, 0)});
  world.wire.lose(RankId{1});
  const env::Ticket to_lost = world.start(2, {copy_of(2, 1, 1)});
  const env::Ticket from_lost = world.start(1, {copy_of(1, 0, 0)});
  test::run_all(world.engine);
  CHECK(world.ends[0]->poll(others) == Completion::kDone);
  CHECK(world.ends[0]->poll(under_way) == Completion::kPending);
  CHECK(world.ends[2]->poll(to_lost) == Completion::kPending);
  CHECK(world.ends[1]->poll(from_lost) == Completion::kPending);
  CHECK(world.landed_expert(1, 0) == -1);
  CHECK(world.landed_expert(0, 0) == -1);
  CHECK_FALSE(world.violations.any());
}

}  // namespace
}  // namespace eplb::sim
