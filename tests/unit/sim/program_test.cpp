// Goal: programs behave as CUDA's streams, events, queues and SMs do, and time is what the figures
// say. Method: small programs whose times and hangs are worked out by hand.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/program/sm_pool.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kNsPerUs = 1000;

/// A GPU of two SMs; an operation costs its host thread 1 us.
Program program_of(std::vector<HostThread> threads, std::int32_t ranks = 1) {
  Program program{.ranks = ranks, .threads = std::move(threads)};
  program.processor.sm_count = 2;
  program.host_operation_us = 1;
  program.copy_bandwidth_gb_per_s = 100;
  program.copy_start_us = 2;
  return program;
}

LaunchOp kernel(std::string stream, KernelKind kind, std::int32_t ctas, double us) {
  LaunchOp launch{.stream = std::move(stream), .kind = kind, .ctas = ctas, .smem_kb = 200};
  launch.us = us;
  if (kind == KernelKind::kRendezvous || kind == KernelKind::kGangRendezvous) {
    launch.group = "g";
  }
  return launch;
}

HostThread thread(std::int32_t rank, std::string name, std::vector<Operation> operations) {
  return {.rank = rank, .name = std::move(name), .operations = std::move(operations)};
}

std::int64_t end_us(const Program& program) {
  const ProgramResult result = *run_program(program, 1);
  REQUIRE(!result.hang.has_value());
  return result.simulated_ns / kNsPerUs;
}

TEST_CASE("an SM's budgets of threads, registers, shared memory and slots each bound its CTAs") {
  ProcessorOptions processor{.sm_count = 3};
  const SmPool pool(processor);
  CHECK(pool.room({.threads = 1024}) == 3 * 2);
  CHECK(pool.room({.threads = 32, .registers = 20000}) == 3 * 3);
  CHECK(pool.room({.threads = 32, .shared_memory_kb = 100}) == 3 * 2);
  CHECK(pool.room({.threads = 32}) == 3 * 32);
}

TEST_CASE("CTAs go to the emptiest SM, and come back") {
  SmPool pool({.sm_count = 2});
  const CtaDemand large{.threads = 1024, .shared_memory_kb = 200};
  const auto placed = pool.place(large, 1);
  REQUIRE(placed.size() == 1);
  CHECK(placed[0].sm == 0);
  CHECK(pool.room(large) == 1);
  const auto next = pool.place({.threads = 32}, 1);
  CHECK(next[0].sm == 1);
  pool.remove(large, placed);
  CHECK(pool.room(large) == 2);
}

TEST_CASE("a plain kernel's CTAs come as room allows, a gang waits for all of it") {
  // Five CTAs on two SMs are three waves of 10 us, after the host's first microsecond.
  CHECK(end_us(program_of({thread(0, "t", {{kernel("s", KernelKind::kPlain, 5, 10)}})})) == 1 + 30);
  // One SM is taken till 11; the gang of two comes then.
  CHECK(end_us(program_of({thread(0, "t",
                                  {{kernel("a", KernelKind::kPlain, 1, 10)},
                                   {kernel("b", KernelKind::kGang, 2, 7)}})})) == 11 + 7);
  // A plain kernel of two has the free SM from 2 to 9 and again from 9 to 16.
  CHECK(end_us(program_of({thread(0, "t",
                                  {{kernel("a", KernelKind::kPlain, 1, 10)},
                                   {kernel("b", KernelKind::kPlain, 2, 7)}})})) == 2 + 7 + 7);
}

TEST_CASE("a waiting gang holds later kernels up only if the program says so") {
  Program program = program_of({thread(0, "t",
                                       {{kernel("a", KernelKind::kPlain, 1, 10)},
                                        {kernel("b", KernelKind::kGang, 2, 7)},
                                        {kernel("c", KernelKind::kPlain, 1, 20)}})});
  // The later kernel runs from 3 to 23 on the free SM, so that the gang begins at 23.
  CHECK(end_us(program) == 23 + 7);
  program.waiting_gang_blocks_later_kernels = true;
  CHECK(end_us(program) == 11 + 7 + 20);
}

TEST_CASE("a wait for an event not yet recorded is no wait") {
  const std::vector<Operation> wait_first = {{WaitOp{.stream = "b", .event = "e"}},
                                             {kernel("a", KernelKind::kPlain, 1, 50)},
                                             {RecordOp{.stream = "a", .event = "e"}},
                                             {kernel("b", KernelKind::kPlain, 1, 10)}};
  CHECK(end_us(program_of({thread(0, "t", wait_first)})) == 2 + 50);
  const std::vector<Operation> record_first = {{kernel("a", KernelKind::kPlain, 1, 50)},
                                               {RecordOp{.stream = "a", .event = "e"}},
                                               {WaitOp{.stream = "b", .event = "e"}},
                                               {kernel("b", KernelKind::kPlain, 1, 10)}};
  CHECK(end_us(program_of({thread(0, "t", record_first)})) == 1 + 50 + 10);
}

TEST_CASE("streams that share a hardware queue wait for each other") {
  Program program = program_of({thread(0, "t",
                                       {{kernel("a", KernelKind::kPlain, 1, 50)},
                                        {kernel("a", KernelKind::kPlain, 1, 10)},
                                        {kernel("b", KernelKind::kPlain, 1, 30)}})});
  CHECK(end_us(program) == 1 + 50 + 10);
  program.max_connections = 1;
  // The kernel of b stands behind the second of a, which starts at 51.
  CHECK(end_us(program) == 51 + 30);
}

TEST_CASE("copies take their bytes over the engine's rate, and no SM") {
  // 1 MB at 100 GB/s is 10 us, and 2 us to start, from 1 us on.
  CHECK(end_us(program_of({thread(
            0, "t", {{CopyOp{.stream = "c", .bytes = 1'000'000}}, {SyncOp{.stream = "c"}}})})) ==
        1 + 12);
}

TEST_CASE("flags and messages count, so that none is lost") {
  CHECK(end_us(program_of({thread(0, "giver", {{SetOp{"f"}}, {SetOp{"f"}}}),
                           thread(0, "taker", {{SleepOp{9}}, {AwaitOp{"f"}}, {AwaitOp{"f"}}})})) ==
        1 + 9 + 2);
  const Program sends =
      program_of({thread(0, "a", {{SendOp{.to = 1}}, {SendOp{.to = 1}}}),
                  thread(1, "b", {{RecvOp{.from = 0}}, {RecvOp{.from = 0}}, {RecvOp{.from = 0}}})},
                 2);
  const ProgramResult result = *run_program(sends, 1);
  REQUIRE(result.hang.has_value());
  CHECK(result.hang->kind == HangKind::kMissingPeer);
  REQUIRE(result.hang->explanation.size() == 1);
  CHECK(result.hang->explanation[0].waits_for == "a message that rank 0 does not send");
}

TEST_CASE("locks taken in two orders hang or not by chance, and are a hazard in any case") {
  const auto locks = [](const std::string& first, const std::string& second, double late_us) {
    return std::vector<Operation>{{SleepOp{late_us}}, {LockOp{first}},    {SleepOp{5}},
                                  {LockOp{second}},   {UnlockOp{second}}, {UnlockOp{first}}};
  };
  const auto pair = [&](double late_us) {
    return program_of(
        {thread(0, "x", locks("m", "n", 0)), thread(0, "y", locks("n", "m", late_us))});
  };
  const ProgramResult result = *run_program(pair(0), 1);
  REQUIRE(result.hang.has_value());
  CHECK(result.hang->kind == HangKind::kDeadlock);
  REQUIRE(result.hang->explanation.size() == 2);
  CHECK(result.hang->explanation[0].holds == "mutex m");
  CHECK(result.hang->explanation[1].holds == "mutex n");
  CHECK(!run_program(pair(100), 1)->hang.has_value());
  const std::vector<Hazard> hazards = find_hazards(pair(100));
  REQUIRE(!hazards.empty());
  CHECK(hazards[0].kind == "mutex");
  CHECK(hazards[0].explanation.size() == 2);
  CHECK(explore_program(pair(100), 10000)->can_hang);
}

TEST_CASE("a gang that others never let in is found as a stall") {
  // Each begins while the other runs, so that there is never room for both SMs at once.
  const std::vector<Operation> busy = {{RepeatOp{.body = {{kernel("a", KernelKind::kPlain, 1, 20)},
                                                          {SyncOp{.stream = "b"}},
                                                          {kernel("b", KernelKind::kPlain, 1, 20)},
                                                          {SyncOp{.stream = "a"}}}}}};
  Program program = program_of(
      {thread(0, "busy", busy),
       thread(0, "late",
              {{SleepOp{50}}, {kernel("c", KernelKind::kGang, 2, 5)}, {SyncOp{.stream = "c"}}})});
  program.watchdog_ms = 1;
  program.run_ms = 5;
  const ProgramResult result = *run_program(program, 1);
  REQUIRE(result.hang.has_value());
  CHECK(result.hang->kind == HangKind::kStall);
  program.waiting_gang_blocks_later_kernels = true;
  const ProgramResult fair = *run_program(program, 1);
  CHECK(!fair.hang.has_value());
  CHECK(fair.was_left);
}

TEST_CASE("a launch too few is a missing peer") {
  const Operation meet{kernel("s", KernelKind::kRendezvous, 1, 5)};
  const Program program = program_of({thread(0, "a", {meet, meet}), thread(1, "b", {meet})}, 2);
  const ProgramResult result = *run_program(program, 1);
  REQUIRE(result.hang.has_value());
  CHECK(result.hang->kind == HangKind::kMissingPeer);
  CHECK(result.hang->explanation[0].waits_for == "its peer on rank 1, which nobody will launch");
  CHECK(find_hazards(program)[0].kind == "never");
}

TEST_CASE("the same seed gives the same run, and jitter needs another seed to differ") {
  Program program = program_of({thread(0, "t", {{kernel("a", KernelKind::kPlain, 3, 10)}})});
  program.jitter_us = 40;
  const std::uint64_t digest = run_program(program, 3)->digest;
  CHECK(run_program(program, 3)->digest == digest);
  CHECK(run_program(program, 4)->digest != digest);
}

TEST_CASE("what CUDA refuses to launch is refused, with the reason") {
  const auto problem = [](const LaunchOp& launch) {
    const auto problems = problems_of(program_of({thread(0, "t", {{launch}})}));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].operation == 0);
    return problems[0].message;
  };
  CHECK(problem(kernel("s", KernelKind::kGang, 3, 5)) ==
        "a gang of 3 CTAs never fits, 2 can be resident: its launch is an error in CUDA (too many "
        "blocks in a cooperative launch)");
  LaunchOp large = kernel("s", KernelKind::kPlain, 1, 5);
  large.smem_kb = 300;
  CHECK(problem(large) == "a CTA does not fit on an empty SM: its launch is an error in CUDA");
  CHECK(run_program(program_of({thread(3, "t", {})}), 1).error().code ==
        ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace eplb::sim
