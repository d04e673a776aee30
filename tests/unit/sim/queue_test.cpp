// Goal: a queue behaves as a CUDA stream does, with the traps of one. Method: one rank with a
// forward and a migration queue, copies of 20 ns, times worked by hand.
#include "eplb/sim/group/queue.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "fixed_timing.hpp"
#include "rows.hpp"

namespace eplb::sim {
namespace {

using env::Completion;
using test::landing_row;
using test::weights_row;

constexpr RowContent kExpertFive{.layer = 0, .expert = 5, .version = 1};

struct World {
  EventEngine engine;
  Violations violations;
  RowStore rows{engine, violations, 1};
  test::FixedTiming timing;
  FlightCarrier carrier{engine, timing};
  test::CountingHost host;
  SimQueue forward{engine, rows, carrier, host};
  SimQueue migration{engine, rows, carrier, host};

  World() {
    rows.reserve(RankId{0}, {.slots_per_rank = 2, .landing_rows = 2, .row_bytes = {1000}});
    rows.set(weights_row(0, 0, 0), kExpertFive);
  }
};

const RowCopy kOut{.source = weights_row(0, 0, 0), .destination = landing_row(0, 0)};
const RowCopy kBack{.source = landing_row(0, 0), .destination = weights_row(0, 0, 1)};

TEST_CASE("what is appended runs in order, and a ticket is done when all before it has run") {
  World world;
  world.migration.copy(std::vector{kOut});
  const env::Ticket first = world.migration.signal();
  world.migration.copy(std::vector{kBack});
  const env::Ticket second = world.migration.signal();
  CHECK(first < second);
  CHECK(world.migration.poll(first) == Completion::kPending);
  REQUIRE(world.engine.run_next());
  CHECK(world.engine.now_ns() == 20);
  CHECK(world.migration.poll(first) == Completion::kDone);
  CHECK(world.migration.poll(second) == Completion::kPending);
  REQUIRE(world.engine.run_next());
  CHECK(world.engine.now_ns() == 40);
  CHECK(world.migration.poll(second) == Completion::kDone);
  CHECK(world.rows.content(weights_row(0, 0, 1)) == kExpertFive);
  CHECK(world.host.wake_count == 2);
  CHECK_FALSE(world.violations.any());
}

TEST_CASE("copies of one batch run at once, and end together") {
  World world;
  world.migration.copy(
      std::vector{kOut, RowCopy{.source = weights_row(0, 0, 0), .destination = landing_row(0, 1)}});
  const env::Ticket ticket = world.migration.signal();
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 20);
  CHECK(world.migration.poll(ticket) == Completion::kDone);
  CHECK(world.rows.content(landing_row(0, 1)) == kExpertFive);
}

TEST_CASE("a queue without work is through with its marks at once, also after an empty batch") {
  World world;
  world.forward.copy({});
  CHECK(world.forward.poll(world.forward.signal()) == Completion::kDone);
  CHECK(world.forward.poll(env::Ticket{}) == Completion::kDone);
}

TEST_CASE("a wait for a ticket that was not yet given out is no wait") {
  World world;
  world.forward.wait(world.migration, env::Ticket{1});
  const env::Ticket ticket = world.forward.signal();
  CHECK(world.forward.poll(ticket) == Completion::kDone);
  world.migration.copy(std::vector{kOut});
  CHECK(world.migration.poll(world.migration.signal()) == Completion::kPending);
  CHECK(world.forward.poll(ticket) == Completion::kDone);
}

TEST_CASE("a wait for a pending ticket blocks until it is done, and the host does not") {
  World world;
  world.migration.copy(std::vector{kOut});
  const env::Ticket copied = world.migration.signal();
  world.forward.wait(world.migration, copied);
  world.forward.copy(std::vector{kBack});
  const env::Ticket committed = world.forward.signal();
  REQUIRE(world.engine.run_next());
  CHECK(world.forward.poll(committed) == Completion::kPending);
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 40);
  CHECK(world.forward.poll(committed) == Completion::kDone);
  CHECK(world.rows.content(weights_row(0, 0, 1)) == kExpertFive);
  CHECK_FALSE(world.violations.any());
}

TEST_CASE("a failed copy breaks the queue: its later tickets fail, and who waits for it fails") {
  World world;
  world.timing.local_copy_fails = [](const RowCopy& copy) { return copy == kOut; };
  const env::Ticket before = world.migration.signal();
  world.migration.copy(std::vector{kOut});
  const env::Ticket after = world.migration.signal();
  world.forward.wait(world.migration, after);
  const env::Ticket waiting = world.forward.signal();
  test::run_all(world.engine);
  CHECK(world.migration.poll(before) == Completion::kDone);
  CHECK(world.migration.poll(after) == Completion::kFailed);
  CHECK(world.forward.poll(waiting) == Completion::kFailed);
  CHECK(world.rows.content(landing_row(0, 0)) == kNoContent);

  // Nothing more runs on either, and a wait for what has failed already fails too.
  world.migration.copy(std::vector{RowCopy{kOut.source, landing_row(0, 1)}});
  CHECK(world.migration.poll(world.migration.signal()) == Completion::kFailed);
  SimQueue third(world.engine, world.rows, world.carrier, world.host);
  third.wait(world.migration, after);
  CHECK(third.poll(third.signal()) == Completion::kFailed);
  test::run_all(world.engine);
  CHECK(world.rows.content(landing_row(0, 1)) == kNoContent);
}

TEST_CASE("one failed copy of a batch lets the others land and breaks the queue") {
  World world;
  world.timing.local_copy_fails = [](const RowCopy& copy) { return copy == kOut; };
  world.migration.copy(std::vector{kOut, RowCopy{kOut.source, landing_row(0, 1)}});
  const env::Ticket ticket = world.migration.signal();
  test::run_all(world.engine);
  CHECK(world.migration.poll(ticket) == Completion::kFailed);
  CHECK(world.rows.content(landing_row(0, 0)) == kNoContent);
  CHECK(world.rows.content(landing_row(0, 1)) == kExpertFive);
}

TEST_CASE("a call has its effect when its time has passed, and not before") {
  World world;
  bool published = false;
  world.forward.call(7, [&] { published = true; });
  const env::Ticket ticket = world.forward.signal();
  CHECK_FALSE(published);
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 7);
  CHECK(published);
  CHECK(world.forward.poll(ticket) == Completion::kDone);
}

TEST_CASE("a forward is reached in order and lasts until it is finished") {
  World world;
  world.forward.copy(std::vector{kOut});
  world.forward.forward();
  const env::Ticket ticket = world.forward.signal();
  CHECK(world.host.forward_count == 0);
  test::run_all(world.engine);
  CHECK(world.host.forward_count == 1);
  CHECK(world.forward.poll(ticket) == Completion::kPending);
  world.forward.finish_forward();
  CHECK(world.forward.poll(ticket) == Completion::kDone);
}

TEST_CASE("on a halted queue nothing ends any more") {
  World world;
  world.migration.copy(std::vector{kOut});
  const env::Ticket ticket = world.migration.signal();
  world.migration.halt();
  test::run_all(world.engine);
  CHECK(world.migration.poll(ticket) == Completion::kPending);
  CHECK(world.rows.content(landing_row(0, 0)) == kNoContent);
}

}  // namespace
}  // namespace eplb::sim
