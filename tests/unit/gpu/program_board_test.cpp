// Goal: host threads meet, lock and talk as their program says, every wait ends, and a hang among
// them is told as the simulator tells it. Method: real threads follow small programs without a GPU;
// those that finish have a minute for it, those that hang a limit that nothing meets.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../../../gpu/src/program/board.hpp"
#include "../../../gpu/src/program/wait_graph.hpp"

namespace eplb::gpu::program {
namespace {

constexpr std::int64_t kNeverNs = 60'000'000'000;
constexpr std::int64_t kSoonNs = 50'000'000;

struct HostRun {
  bool is_over = false;
  std::optional<Hang> hang;
  std::int64_t host_operation_count = 0;
};

void follow(const Script& script, Board& board, std::int32_t thread) {
  const std::vector<Instruction>& code = script.threads[static_cast<std::size_t>(thread)].code;
  for (Cursor cursor(code); !cursor.has_ended() && !board.is_over();) {
    if (!board.pass(thread, code[cursor.next()])) {
      return;
    }
    cursor.advance();
    board.reach(thread, cursor.next());
  }
}

HostRun run_host(const Program& program, std::int64_t limit_ns) {
  const Result<Script> script = compile(program, 1);
  REQUIRE(script.has_value());
  std::int32_t over = 0;
  Board board(*script, limit_ns, over);
  {
    std::vector<std::jthread> threads;
    threads.reserve(script->threads.size());
    for (std::size_t thread = 0; thread < script->threads.size(); ++thread) {
      threads.emplace_back(
          [&, thread] { follow(*script, board, static_cast<std::int32_t>(thread)); });
    }
  }
  HostRun run{.is_over = over != 0,
              .hang = std::nullopt,
              .host_operation_count = board.state().host_operation_count};
  const std::vector<LaunchRecord> no_records;
  const std::vector<std::int32_t> devices(static_cast<std::size_t>(program.ranks), 0);
  const std::vector<std::int64_t> offsets_ns(static_cast<std::size_t>(program.ranks), 0);
  if (run.is_over) {
    run.hang = WaitGraph({.script = *script,
                          .board = board.state(),
                          .records = no_records,
                          .devices = devices,
                          .offsets_ns = offsets_ns})
                   .explain();
  }
  return run;
}

HostThread thread_of(std::int32_t rank, std::string name, std::vector<Operation> operations) {
  return {.rank = rank, .name = std::move(name), .operations = std::move(operations)};
}

TEST_CASE("gpu board: flags, messages, barriers and mutexes let through whom they should") {
  const RepeatOp turns{.times = 3,
                       .body = {{LockOp{.mutex = "m"}},
                                {SetOp{.flag = "f"}},
                                {UnlockOp{.mutex = "m"}},
                                {BarrierOp{.name = "b"}}}};
  const HostRun run =
      run_host({.ranks = 2,
                .threads = {thread_of(0, "main", {{turns}, {SendOp{.to = 1}}}),
                            thread_of(0, "worker",
                                      {{RepeatOp{.times = 3, .body = {{AwaitOp{.flag = "f"}}}}},
                                       {LockOp{.mutex = "m"}},
                                       {UnlockOp{.mutex = "m"}}}),
                            thread_of(1, "main",
                                      {{RepeatOp{.times = 3, .body = {{BarrierOp{.name = "b"}}}}},
                                       {RecvOp{.from = 0}},
                                       {SleepOp{.us = 100}}})}},
               kNeverNs);
  CHECK_FALSE(run.is_over);
  CHECK(run.host_operation_count == 13 + 5 + 5);
}

TEST_CASE("gpu board: a raise lets one await pass, and a message one receive") {
  const HostRun flags = run_host(
      {.threads = {thread_of(
           0, "a", {{SetOp{.flag = "f"}}, {AwaitOp{.flag = "f"}}, {AwaitOp{.flag = "f"}}})}},
      kSoonNs);
  CHECK(flags.is_over);
  CHECK(flags.host_operation_count == 2);
  const HostRun messages =
      run_host({.threads = {thread_of(
                    0, "a", {{SendOp{.to = 0}}, {RecvOp{.from = 0}}, {RecvOp{.from = 0}}})}},
               kSoonNs);
  CHECK(messages.is_over);
  CHECK(messages.host_operation_count == 2);
}

TEST_CASE("gpu board: barriers in another order are a deadlock of both threads") {
  const HostRun run = run_host(
      {.ranks = 2,
       .threads = {thread_of(0, "a", {{BarrierOp{.name = "x"}}, {BarrierOp{.name = "y"}}}),
                   thread_of(1, "b", {{BarrierOp{.name = "y"}}, {BarrierOp{.name = "x"}}})}},
      kSoonNs);
  REQUIRE(run.hang.has_value());
  CHECK(run.hang->kind == HangKind::kDeadlock);
  CHECK(run.hang->explanation ==
        std::vector<Wait>{
            {.rank = 0,
             .operation = "thread a (stands at barrier x)",
             .waits_for =
                 "rank 1 at the barrier, where thread b (stands at barrier y) has yet to come"},
            {.rank = 1,
             .operation = "thread b (stands at barrier y)",
             .waits_for =
                 "rank 0 at the barrier, where thread a (stands at barrier x) has yet to come"}});
}

TEST_CASE("gpu board: mutexes in another order are a deadlock that says what is held") {
  // Each has its first mutex before either asks for its second.
  const auto both = [](const std::string& first, const std::string& second, const std::string& mine,
                       const std::string& theirs) {
    return std::vector<Operation>{{LockOp{.mutex = first}},
                                  {SetOp{.flag = mine}},
                                  {AwaitOp{.flag = theirs}},
                                  {LockOp{.mutex = second}}};
  };
  const HostRun run = run_host({.threads = {thread_of(0, "a", both("m", "n", "f", "g")),
                                            thread_of(0, "b", both("n", "m", "g", "f"))}},
                               kSoonNs);
  REQUIRE(run.hang.has_value());
  CHECK(run.hang->kind == HangKind::kDeadlock);
  REQUIRE(run.hang->explanation.size() == 2);
  CHECK(run.hang->explanation[0] ==
        Wait{.rank = 0,
             .operation = "thread a (locks mutex n)",
             .holds = "mutex m",
             .waits_for = "the mutex that thread b (locks mutex m) holds"});
}

TEST_CASE("gpu board: a message that was lost is told from its receiver on") {
  const HostRun run = run_host(
      {.ranks = 2,
       .threads = {thread_of(0, "a", {{SendOp{.to = 1, .lost = true}}, {BarrierOp{.name = "x"}}}),
                   thread_of(1, "b", {{RecvOp{.from = 0}}, {BarrierOp{.name = "x"}}})}},
      kSoonNs);
  REQUIRE(run.hang.has_value());
  CHECK(run.hang->kind == HangKind::kLostMessage);
  REQUIRE(run.hang->explanation.size() == 2);
  CHECK(run.hang->explanation[0].operation == "thread b (receives message from rank 0)");
  CHECK(run.hang->explanation[0].waits_for ==
        "the message from rank 0, which was sent and got lost");
  CHECK(run.hang->explanation[1].operation == "thread a (stands at barrier x)");
}

TEST_CASE("gpu board: who waits in vain while others go on has stalled") {
  const RepeatOp forever{.body = {{SleepOp{.us = 100}}, {SetOp{.flag = "other"}}}};
  const HostRun run = run_host({.threads = {thread_of(0, "main", {{forever}}),
                                            thread_of(0, "worker", {{AwaitOp{.flag = "f"}}})}},
                               kSoonNs);
  REQUIRE(run.hang.has_value());
  CHECK(run.hang->kind == HangKind::kStall);
  CHECK(run.hang->explanation ==
        std::vector<Wait>{{.rank = 0,
                           .operation = "thread worker (awaits flag f)",
                           .waits_for = "the flag, which no thread will set any more"}});
}

TEST_CASE("gpu board: who waits in vain when all others have ended misses its peer") {
  const HostRun run = run_host({.ranks = 2,
                                .threads = {thread_of(0, "a", {{BarrierOp{.name = "x"}}}),
                                            thread_of(1, "b", {{SleepOp{.us = 10}}})}},
                               kSoonNs);
  REQUIRE(run.hang.has_value());
  CHECK(run.hang->kind == HangKind::kMissingPeer);
  REQUIRE(run.hang->explanation.size() == 1);
  CHECK(run.hang->explanation[0].waits_for ==
        "rank 1 at the barrier, which no thread of it will reach");
}

}  // namespace
}  // namespace eplb::gpu::program
