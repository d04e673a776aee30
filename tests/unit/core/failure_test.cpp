// Goal: a failure reads as a sentence that names the rank, its state and its layer. Method: the
// sentences.
#include "eplb/core/failure.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace eplb {
namespace {

TEST_CASE("a failure names its rank, its state, its layer if it has one, and its cause") {
  CHECK(describe({.cause = FailureCause::kTransferFailed,
                  .rank = RankId{3},
                  .state = MigrationState::kMoving,
                  .layer = LayerId{12}}) == "rank 3, moving (layer 12): a transfer failed");
  CHECK(describe({.cause = FailureCause::kStatusMissing,
                  .rank = RankId{1},
                  .state = MigrationState::kAggregating}) ==
        "rank 1, aggregating: it has stopped posting its status");
}

TEST_CASE("only a failure without a cause is none") {
  CHECK_FALSE(Failure{});
  CHECK_FALSE(Failure{.rank = RankId{2}});
  CHECK(Failure{.cause = FailureCause::kDrained});
}

TEST_CASE("every cause and every state has words of its own") {
  std::set<std::string> causes;
  for (auto cause = FailureCause::kNone; cause <= FailureCause::kDrained;
       cause = static_cast<FailureCause>(static_cast<std::uint8_t>(cause) + 1)) {
    causes.emplace(to_string(cause));
  }
  CHECK(causes.size() == 12);
  CHECK_FALSE(causes.contains("unknown"));
  std::set<std::string> states;
  for (auto state = MigrationState::kStarting; state <= MigrationState::kStopped;
       state = static_cast<MigrationState>(static_cast<std::uint8_t>(state) + 1)) {
    states.emplace(to_string(state));
  }
  CHECK(states.size() == 7);
  CHECK_FALSE(states.contains("unknown"));
}

}  // namespace
}  // namespace eplb
