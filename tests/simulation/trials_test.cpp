// Goal: the core keeps its promises in worlds with faults, and a world is what its seed says, on
// any build. Method: trials of the first hundred seeds; half of them twice; one number folded from
// the digests of twenty, which every compiler and build type must come to.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

#include "eplb/core/digest.hpp"
#include "eplb/sim/trial/trial.hpp"

namespace eplb::sim {
namespace {

/// Digest of the seeds 1 to 20, in order. Changes whenever the protocol's messages, their order or
/// the worlds change: then it is for a person to say that they were meant to.
constexpr std::uint64_t kDigestOfTwenty = 7904180987810373026U;

TEST_CASE("a hundred seeds pass, and half of them come out the same when they are run again") {
  Digest digest_of_twenty;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Swarm swarm = draw_swarm(seed);
    const TrialResult result = run_trial(swarm);
    INFO("replay: eplb replay --seed " << seed << "\n" << describe(swarm));
    if (!result.violations.empty()) {
      CHECK(result.violations.front().what == "");
    }
    CHECK(result.violations.empty());
    if (seed <= 50) {
      const TrialResult again = run_trial(swarm);
      CHECK(again.digest == result.digest);
      CHECK(again.events == result.events);
      CHECK(again.reached == result.reached);
    }
    if (seed <= 20) {
      digest_of_twenty.add(static_cast<std::int64_t>(result.digest));
    }
  }
  CHECK(digest_of_twenty.value() == kDigestOfTwenty);
}

TEST_CASE("the first seeds come to every rare thing that worlds are made for") {
  std::set<std::string> missing{"a rank lost",
                                "abort: a transfer failed",
                                "abort: its deadline has passed",
                                "abort: its plan differs from the other ranks'",
                                "abort: its policy refused",
                                "abort: the migration was drained on request",
                                "drained while rearranging",
                                "end: a copy into its weights failed",
                                "end: a transfer failed",
                                "end: it could not reserve its memory",
                                "end: it has stopped posting its status",
                                "end: it was lost",
                                "end: its deadline has passed",
                                "end: its plan differs from the other ranks'",
                                "end: its policy refused",
                                "hold in async mode",
                                "log",
                                "memory refused at start",
                                "no load to plan on",
                                "scale down",
                                "scale up",
                                "several layers committed in a step",
                                "sleep"};
  for (std::uint64_t seed = 1; seed <= 1000 && !missing.empty(); ++seed) {
    for (const std::string& reached : run_trial(draw_swarm(seed)).reached) {
      missing.erase(reached);
    }
  }
  CHECK(missing == std::set<std::string>{});
}

}  // namespace
}  // namespace eplb::sim
