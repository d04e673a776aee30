// Goal: what kernels wrote before they gave up becomes the explanation that the simulator gives of
// the same hang. Method: launches are noted on a board without a GPU, their records are written by
// hand as the spinning kernels write them, and the links are compared word for word.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../gpu/src/program/board.hpp"
#include "../../../gpu/src/program/wait_graph.hpp"
#include "../../gpu/program/shipped_programs.hpp"
#include "eplb/config/config.hpp"
#include "eplb/sim/program/program_run.hpp"

namespace eplb::gpu::program {
namespace {

constexpr std::int64_t kLimitNs = 60'000'000'000;
constexpr std::int64_t kOverNs = 120'000'000'000;

/// A run that never was: launches are issued, and what came of them is written down.
class Staged {
 public:
  explicit Staged(const Program& program)
      : script_(*compile(program, 1)), board_(script_, kLimitNs, over_) {}

  /// A thread issues what it has next, as often as `count` says.
  void issue(std::int32_t thread, std::int32_t count) {
    const auto& code = script_.threads[static_cast<std::size_t>(thread)].code;
    Cursor cursor(code);
    while (static_cast<std::int32_t>(cursor.next()) !=
           board_.state().threads[static_cast<std::size_t>(thread)].next) {
      cursor.advance();
    }
    for (std::int32_t issued = 0; issued < count; ++issued) {
      board_.issue(thread, [](const IssuedOp& /*op*/) {});
      cursor.advance();
      board_.reach(thread, cursor.next());
    }
    records_.resize(board_.state().launches.size());
  }

  LaunchRecord& record(std::size_t launch) { return records_[launch]; }

  /// The kernel became resident in full and ran out while it waited for a rank.
  void waits_for_peer(std::size_t launch, std::int32_t rank, std::int32_t sms) {
    records_[launch] = {.begun_ns = 1'000,
                        .resident_ns = 2'000,
                        .ended_ns = 9'000,
                        .ran_out_ns = 8'000,
                        .waited = SpinWait::kPeer,
                        .waited_for = rank,
                        .resident_ctas = sms,
                        .resident_sms = sms};
  }

  /// Its CTAs came when the run was over, and left.
  void is_kept_out(std::size_t launch) { records_[launch] = {.ended_ns = 9'500, .kept_out = 1}; }

  void has_ended(std::size_t launch) {
    records_[launch] = {.begun_ns = 1'000, .resident_ns = 2'000, .ended_ns = 3'000};
  }

  /// `devices` has the GPU of each rank.
  WaitGraph graph(const std::vector<std::int32_t>& devices = {0, 1}) {
    devices_ = devices;
    offsets_ns_.assign(devices.size(), 0);
    return WaitGraph({.script = script_,
                      .board = board_.state(),
                      .records = records_,
                      .devices = devices_,
                      .offsets_ns = offsets_ns_,
                      .sm_count = 132,
                      .over_ns = kOverNs,
                      .settle_ns = 1'000});
  }

  Board& board() { return board_; }

 private:
  Script script_;
  std::int32_t over_ = 1;
  Board board_;
  std::vector<LaunchRecord> records_;
  std::vector<std::int32_t> devices_;
  std::vector<std::int64_t> offsets_ns_;
};

Program shipped(const std::string& name) {
  const std::vector<test::ShippedProgram> programs = test::shipped_programs();
  const auto found = std::find_if(programs.begin(), programs.end(),
                                  [&](const auto& one) { return one.name == name; });
  REQUIRE(found != programs.end());
  return found->program;
}

std::vector<Wait> simulated(const std::string& name) {
  const config::LoadResult loaded = config::load_config(
      EPLB_SOURCE_DIR "/configs/scenarios/hangs/" + name + ".yaml",
      {.config_dirs = {EPLB_SOURCE_DIR "/configs"}, .overrides = {}, .policy_names = {}});
  REQUIRE(loaded.has_value());
  const Result<sim::ProgramResult> result = sim::run_program(*loaded->program, 1);
  REQUIRE(result.has_value());
  REQUIRE(result->hang.has_value());
  std::vector<Wait> waits;
  for (const sim::Wait& wait : result->hang->explanation) {
    waits.push_back({.rank = wait.rank,
                     .operation = wait.operation,
                     .holds = wait.holds,
                     .waits_for = wait.waits_for});
  }
  return waits;
}

TEST_CASE("gpu wait graph: the spin barrier's deadlock is told as the simulator tells it") {
  Staged run(shipped("two-gpus-spin-barrier"));
  run.issue(0, 2);  // Rank 0: the barrier, then the cooperative kernel.
  run.issue(1, 2);  // Rank 1: the other way round.
  run.waits_for_peer(0, 1, 1);
  run.is_kept_out(1);
  run.waits_for_peer(2, 0, 132);
  run.is_kept_out(3);
  const WaitGraph graph = run.graph();
  const std::optional<Hang> hang = graph.explain();
  REQUIRE(hang.has_value());
  CHECK(hang->kind == HangKind::kDeadlock);
  CHECK(hang->explanation == simulated("two-gpus-spin-barrier"));
  CHECK(graph.launch_waits_for(0) == hang->explanation[0].waits_for);
  CHECK(graph.launch_waits_for(1) == hang->explanation[3].waits_for);
}

TEST_CASE("gpu wait graph: a kernel that came in part holds its SMs and waits for room") {
  Staged run(shipped("nccl-with-async-balancer"));
  run.issue(1, 1);          // Rank 0's exchange.
  run.board().reach(0, 1);  // Rank 0 has slept.
  run.issue(0, 1);          // Its all-to-all, of which 12 CTAs find no room.
  run.issue(2, 1);          // Rank 1's all-to-all.
  run.board().reach(3, 1);
  run.issue(3, 1);  // Its exchange, of which 12 CTAs do.
  run.waits_for_peer(0, 1, 24);
  run.record(1) = {.begun_ns = 1'000,
                   .ended_ns = 9'000,
                   .ran_out_ns = 8'500,
                   .kept_out = 1,
                   .waited = SpinWait::kRoom,
                   .resident_ctas = 108,
                   .resident_sms = 108};
  run.waits_for_peer(2, 0, 120);
  run.record(3) = run.record(1);
  run.record(3).resident_ctas = 12;
  run.record(3).resident_sms = 12;
  const std::optional<Hang> hang = run.graph().explain();
  REQUIRE(hang.has_value());
  CHECK(hang->kind == HangKind::kDeadlock);
  CHECK(hang->explanation == simulated("nccl-with-async-balancer"));
}

TEST_CASE("gpu wait graph: what one kernel holds alone is told with its holder") {
  Staged run(shipped("signal-pad-of-two-streams"));
  run.issue(0, 2);
  run.issue(1, 3);  // Rank 1 has other work first.
  run.waits_for_peer(0, 1, 24);
  const auto waits_for_pad = [&](std::size_t launch, std::int32_t holder) {
    run.record(launch) = {.begun_ns = 1'000,
                          .ended_ns = 9'000,
                          .ran_out_ns = 8'000,
                          .waited = SpinWait::kExclusive,
                          .waited_for = holder,
                          .resident_ctas = 24,
                          .resident_sms = 24};
  };
  waits_for_pad(1, 0);
  run.has_ended(2);
  waits_for_pad(3, 4);
  run.waits_for_peer(4, 0, 24);
  const std::optional<Hang> hang = run.graph().explain();
  REQUIRE(hang.has_value());
  // On a GPU a kernel holds its SMs while it waits for the pad.
  std::vector<Wait> expected = simulated("signal-pad-of-two-streams");
  REQUIRE(expected.size() == 4);
  for (Wait& wait : expected) {
    wait.holds = "24 of 132 SMs";
  }
  CHECK(hang->explanation == expected);
}

TEST_CASE("gpu wait graph: what nobody held when the run was over is waited for by none") {
  Staged run(shipped("signal-pad-of-two-streams"));
  run.issue(0, 1);
  run.record(0) = {.begun_ns = 1'000,
                   .ended_ns = 9'000,
                   .ran_out_ns = 8'000,
                   .waited = SpinWait::kExclusive,
                   .waited_for = -1};
  CHECK_FALSE(run.graph().explain().has_value());
}

TEST_CASE("gpu wait graph: a launch behind another of its stream waits for that") {
  const auto of_rank = [](std::int32_t rank, const std::string& first, const std::string& second) {
    const auto launch = [](const std::string& group) {
      return Operation{
          LaunchOp{.stream = "s", .kind = KernelKind::kRendezvous, .ctas = 4, .group = group}};
    };
    return HostThread{.rank = rank, .name = "main", .operations = {launch(first), launch(second)}};
  };
  Staged run({.ranks = 2, .threads = {of_rank(0, "x", "y"), of_rank(1, "y", "x")}});
  run.issue(0, 2);
  run.issue(1, 2);
  run.waits_for_peer(0, 1, 4);
  run.is_kept_out(1);
  run.waits_for_peer(2, 0, 4);
  run.is_kept_out(3);
  const std::optional<Hang> hang = run.graph().explain();
  REQUIRE(hang.has_value());
  CHECK(hang->kind == HangKind::kDeadlock);
  REQUIRE(hang->explanation.size() == 4);
  CHECK(hang->explanation[1].waits_for ==
        "what stands before it in its stream: kernel y (rendezvous, 4 CTAs) on stream s");
}

TEST_CASE("gpu wait graph: a launch behind an event waits for the kernel before its record") {
  const LaunchOp first{
      .stream = "a", .kind = KernelKind::kRendezvous, .name = "first", .group = "g"};
  Staged run({.ranks = 2,
              .threads = {{.rank = 0,
                           .name = "main",
                           .operations = {{first},
                                          {RecordOp{.stream = "a", .event = "e"}},
                                          {WaitOp{.stream = "b", .event = "e"}},
                                          {LaunchOp{.stream = "b", .name = "second"}},
                                          {SyncOp{.stream = "b"}}}}}});
  run.issue(0, 4);
  run.waits_for_peer(0, 1, 1);
  run.is_kept_out(1);
  // A wait that ends at once leaves the thread waiting at its sync, since the run is over.
  CHECK_FALSE(run.board().wait(0, [] { return false; }));
  const WaitGraph graph = run.graph();
  const std::optional<Hang> hang = graph.explain();
  REQUIRE(hang.has_value());
  CHECK(hang->kind == HangKind::kMissingPeer);
  REQUIRE(hang->explanation.size() == 3);
  CHECK(hang->explanation[0].waits_for == "its peer on rank 1, which nobody will launch");
  CHECK(graph.launch_waits_for(1) ==
        "the event behind kernel first (rendezvous, 1 CTAs) on stream a");
  CHECK(hang->explanation[1].operation == "kernel second (plain, 1 CTAs) on stream b");
  CHECK(hang->explanation[2].operation == "thread main (synchronizes stream b)");
}

TEST_CASE("gpu wait graph: ranks of one GPU hold each other's room, ranks of two do not") {
  const LaunchOp holder{
      .stream = "s", .kind = KernelKind::kRendezvous, .name = "holder", .group = "g"};
  Staged run({.ranks = 2,
              .threads = {{.rank = 0, .name = "main", .operations = {{holder}}},
                          {.rank = 1,
                           .name = "main",
                           .operations = {{LaunchOp{.stream = "s", .name = "kept-out"}}}}}});
  run.issue(0, 1);
  run.issue(1, 1);
  run.waits_for_peer(0, 1, 1);
  run.is_kept_out(1);
  CHECK(run.graph({0, 0}).launch_waits_for(1) ==
        "room on the SMs that kernel holder (rendezvous, 1 CTAs) on stream s holds");
  CHECK(run.graph({0, 1}).launch_waits_for(1).empty());
}

TEST_CASE("gpu wait graph: room that one of its holders never gives back does not come") {
  const auto launch = [](const std::string& name) {
    return Operation{
        LaunchOp{.stream = name, .kind = KernelKind::kRendezvous, .name = name, .group = name}};
  };
  Staged run({.ranks = 2,
              .threads = {{.rank = 0,
                           .name = "main",
                           .operations = {launch("met"),
                                          launch("alone"),
                                          {LaunchOp{.stream = "s", .name = "kept-out"}}}},
                          {.rank = 1, .name = "main", .operations = {launch("met")}}}});
  run.issue(0, 3);
  run.issue(1, 1);
  run.waits_for_peer(0, 1, 1);
  run.waits_for_peer(1, 1, 1);
  run.is_kept_out(2);
  run.has_ended(3);
  const WaitGraph graph = run.graph();
  const std::optional<Hang> hang = graph.explain();
  REQUIRE(hang.has_value());
  REQUIRE(hang->explanation.size() == 2);
  CHECK(hang->explanation[0].operation == "kernel alone (rendezvous, 1 CTAs) on stream alone");
  CHECK(hang->explanation[1].operation == "kernel kept-out (plain, 1 CTAs) on stream s");
}

TEST_CASE("gpu wait graph: nothing is told of launches that ended or had just been issued") {
  Staged run(shipped("two-gpus-spin-barrier-fixed"));
  run.issue(0, 2);
  run.issue(1, 2);
  for (std::size_t launch = 0; launch < 4; ++launch) {
    run.has_ended(launch);
  }
  CHECK_FALSE(run.graph().explain().has_value());
}

TEST_CASE("gpu wait graph: of several circles a shortest is found") {
  CHECK(shortest_circle_of({{1}, {2}, {0, 3}, {2}}).size() == 2);
  CHECK(shortest_circle_of({{1}, {2}, {}}).empty());
  CHECK(shortest_circle_of({{0}}) == std::vector<std::int32_t>{0});
}

}  // namespace
}  // namespace eplb::gpu::program
