// Goal: rearrangement after rearrangement, by every transport and in both modes, all ranks serve
// from the same placement, each slot holds every byte of its expert, and what was counted is what
// was sent. Method: placements scattered anew by each window; all of it compared after each one.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>

#include "served_world.hpp"

namespace eplb {
namespace {

using test::RankHistory;
using test::ServedWorld;

constexpr std::size_t kRearrangements = 12;

void rearrange_again_and_again(bool use_async, env::TransferSide side) {
  EplbOptions options = test::served_options();
  options.use_async = use_async;
  test::WorldOptions world = test::served(options);
  world.side = side;
  if (!test::make_world(world)->can_transfer(side)) {
    MESSAGE("no transport of this world is of that side");
    return;
  }
  ServedWorld served(world);
  for (std::size_t count = 1; count <= kRearrangements; ++count) {
    CAPTURE(count);
    served.rearrange_until(count);
    served.check_content();
  }
  served.check_histories();
  std::int64_t moved = 0;
  for (const Rearrangement& rearrangement : served.rearrangements(RankId{0})) {
    CHECK(rearrangement.abort.cause == FailureCause::kNone);
    CHECK(rearrangement.committed_layers == 3);
    moved += rearrangement.moved_experts;
  }
  CHECK(moved > static_cast<std::int64_t>(3 * kRearrangements));
  CHECK(served.histories().back().windows.size() >= kRearrangements);
}

TEST_CASE("async, pushed: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(true, env::TransferSide::kSender);
}

TEST_CASE("async, pulled: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(true, env::TransferSide::kReceiver);
}

TEST_CASE("async, in pairs: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(true, env::TransferSide::kBoth);
}

TEST_CASE("sync, pushed: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(false, env::TransferSide::kSender);
}

TEST_CASE("sync, pulled: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(false, env::TransferSide::kReceiver);
}

TEST_CASE("sync, in pairs: many rearrangements leave every byte in its place") {
  rearrange_again_and_again(false, env::TransferSide::kBoth);
}

/// Steps in which a rank was told to hold, but for the first, which waits for all to be there.
std::set<std::int64_t> held_steps(const RankHistory& history) {
  std::set<std::int64_t> steps;
  for (const env::TraceRecord& record : test::records_of(history, env::TraceEvent::kStep)) {
    if (record.value == 1 && record.subject > 0) {
      steps.insert(record.subject);
    }
  }
  return steps;
}

TEST_CASE("in async mode no rank holds once all are there") {
  ServedWorld served(test::served(test::served_options()));
  served.rearrange_until(4);
  for (const RankHistory& history : served.histories()) {
    CHECK(held_steps(history).empty());
  }
}

TEST_CASE("in sync mode ranks hold in the step of the trigger and in no other") {
  EplbOptions options = test::served_options();
  options.use_async = false;
  ServedWorld served(test::served(options));
  served.rearrange_until(3);
  std::set<std::int64_t> triggers;
  for (const Rearrangement& rearrangement : served.rearrangements(RankId{0})) {
    triggers.insert(rearrangement.start_step);
    CHECK(rearrangement.end_step == rearrangement.start_step);
  }
  CHECK(triggers == std::set<std::int64_t>{1, 9, 17});
  for (const RankHistory& history : served.histories()) {
    CHECK(held_steps(history) == triggers);
  }
}

}  // namespace
}  // namespace eplb
