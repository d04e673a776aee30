// Goal: a trial comes to the end that its world must have, and says so when it does not. Method: a
// calm world made by hand, then one fault at a time put into it; worlds that cannot end well show
// that the checks bite.
#include "eplb/sim/trial/trial.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace eplb::sim {
namespace {

constexpr std::int64_t kUs = 1'000;

/// Three layers on three ranks, a rearrangement every 12 steps, nothing late.
Swarm calm_world() {
  Swarm swarm;
  swarm.seed = 5;
  swarm.shape = {.layer_count = 3, .expert_count = 5, .redundant_slot_count = 1, .rank_count = 3};
  swarm.row_bytes = {1000, 1000, 2000};
  swarm.eplb.num_redundant_experts = 1;
  swarm.eplb.window_size = 6;
  swarm.eplb.step_interval = 12;
  swarm.eplb.window_parts = 2;
  swarm.eplb.history_parts = 4;
  swarm.eplb.landing_rows = 6;  // All layers at once.
  swarm.eplb.deadline_ms = 40;
  swarm.eplb.log_balancedness = true;
  swarm.fault_steps = 40;
  swarm.message = {.least_ns = 1 * kUs, .most_ns = 50 * kUs};
  swarm.transfer = {.least_ns = 5 * kUs, .most_ns = 100 * kUs};
  swarm.local_copy = {.least_ns = 1 * kUs, .most_ns = 20 * kUs};
  swarm.read_back = {.least_ns = 1 * kUs, .most_ns = 50 * kUs};
  swarm.plan = {.least_ns = 10 * kUs, .most_ns = 200 * kUs};
  swarm.host = {.least_ns = 0, .most_ns = 20 * kUs};
  swarm.poll = {.least_ns = 0, .most_ns = 10 * kUs};
  return swarm;
}

std::vector<std::string> broken(const TrialResult& result) {
  std::vector<std::string> texts;
  for (const Violation& violation : result.violations) {
    texts.push_back(violation.what);
  }
  return texts;
}

/// Why the world's group ended; fails the test if a promise was broken.
Failure end_of(const Swarm& swarm) {
  const TrialResult result = run_trial(swarm);
  REQUIRE(broken(result) == std::vector<std::string>{});
  return result.end;
}

constexpr RankEvent kRankOneAtTen{.rank = 1, .step = 10};

TEST_CASE("a calm world serves until two rearrangements have ended after its time with faults") {
  REQUIRE(calm_world().calm());
  const TrialResult result = run_trial(calm_world());
  CHECK(broken(result).empty());
  CHECK_FALSE(result.end);
  // Triggers come every 12 steps from the third on; 39 and 51 are the first two after step 40 - 3.
  CHECK(result.steps >= 51);
  CHECK(result.steps <= 75);
  CHECK(result.reached.contains("log"));
  CHECK(result.reached.contains("several layers committed in a step"));
  CHECK_FALSE(result.reached.contains("hold in async mode"));
}

TEST_CASE("a world run twice is one world, and its seed matters") {
  Swarm swarm = calm_world();
  const std::uint64_t digest = run_trial(swarm).digest;
  CHECK(run_trial(swarm).digest == digest);
  swarm.seed = 6;
  CHECK(run_trial(swarm).digest != digest);
}

TEST_CASE("each fatal fault ends the group for its own reason") {
  Swarm lost = calm_world();
  lost.lost_rank = kRankOneAtTen;
  CHECK(end_of(lost).cause == FailureCause::kRankLost);
  CHECK(end_of(lost).rank == RankId{1});

  Swarm failed_commit = calm_world();
  failed_commit.failed_commit = kRankOneAtTen;
  CHECK(end_of(failed_commit).cause == FailureCause::kCopyFailed);
  CHECK(end_of(failed_commit).rank == RankId{1});

  Swarm stalled = calm_world();
  stalled.eplb.use_async = false;  // Else nobody waits for it but its own forward.
  stalled.stalled_host = RankEvent{.rank = 1, .step = 3};
  CHECK(end_of(stalled).cause == FailureCause::kStatusMissing);
  CHECK(end_of(stalled).rank.value == 1);

  Swarm refused_memory = calm_world();
  refused_memory.refused_memory = 1;
  CHECK(end_of(refused_memory).cause == FailureCause::kMemory);
  CHECK(end_of(refused_memory).rank == RankId{1});
}

TEST_CASE("a refused plan and a different one abort, or raise where that is asked for") {
  const RankEvent second_plan{.rank = 1, .step = 2};
  Swarm refused = calm_world();
  refused.refused_plan = second_plan;
  Swarm different = calm_world();
  different.different_plan = second_plan;
  CHECK_FALSE(end_of(refused));
  CHECK_FALSE(end_of(different));
  CHECK(run_trial(refused).reached.contains("abort: its policy refused"));
  CHECK(run_trial(different).reached.contains("abort: its plan differs from the other ranks'"));
  refused.eplb.on_failure = OnFailure::kRaise;
  different.eplb.on_failure = OnFailure::kRaise;
  CHECK(end_of(refused).cause == FailureCause::kPlanFailed);
  CHECK(end_of(different).cause == FailureCause::kPlansDiffer);
}

TEST_CASE("a world falls asleep and changes its size, with the right weights everywhere") {
  Swarm swarm = calm_world();
  swarm.eplb.communicator = Communicator::kNixl;
  swarm.transport = {.side = env::TransferSide::kReceiver};
  swarm.sleep_step = 15;
  swarm.sizes = {{.step = 8, .ranks = 5}, {.step = 25, .ranks = 3}};
  const TrialResult result = run_trial(swarm);
  CHECK(broken(result) == std::vector<std::string>{});
  CHECK(result.reached.contains("sleep"));
  CHECK(result.reached.contains("scale up"));
  CHECK(result.reached.contains("scale down"));
}

TEST_CASE("a group that can never finish a rearrangement breaks the promise to") {
  Swarm swarm = calm_world();
  swarm.eplb.deadline_ms = 0.01;
  const std::vector<std::string> texts = broken(run_trial(swarm));
  REQUIRE_FALSE(texts.empty());
  CHECK(texts[0].starts_with("ends: "));
}

TEST_CASE("a group that is calm and ends all the same breaks the promise not to") {
  Swarm swarm = calm_world();
  swarm.eplb.deadline_ms = 0.01;
  swarm.eplb.on_failure = OnFailure::kRaise;
  const std::vector<std::string> texts = broken(run_trial(swarm));
  REQUIRE_FALSE(texts.empty());
  CHECK(texts[0].starts_with("calm: the group ended: "));
}

TEST_CASE("messages later than the lead make a calm world hold, which it must not") {
  Swarm swarm = calm_world();
  swarm.eplb.commit_lead_steps = 1;
  swarm.message = {.least_ns = 1400 * kUs, .most_ns = 1500 * kUs};
  CHECK(run_trial(swarm).reached.contains("hold in async mode"));
  CHECK(broken(run_trial(swarm)).empty());  // Late messages are not calm, so it may.
  CHECK_FALSE(swarm.calm());
}

}  // namespace
}  // namespace eplb::sim
