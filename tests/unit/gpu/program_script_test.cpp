// Goal: a program's names become what host threads follow, repeats are taken as often as they say,
// and what is not legal is told in full. Method: small programs, one behaviour a case.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "../../../gpu/src/program/script.hpp"

namespace eplb::gpu::program {
namespace {

Program one_thread(std::vector<Operation> operations) {
  return {.threads = {{.name = "main", .operations = std::move(operations)}}};
}

std::string problems_of(const Program& program) {
  const Result<Script> script = compile(program, 1);
  return script.has_value() ? "" : script.error().message;
}

/// The instructions that a cursor visits, at most `count_max`.
std::vector<std::size_t> visited(const Script& script, std::size_t count_max) {
  std::vector<std::size_t> indices;
  indices.reserve(count_max);
  for (Cursor cursor(script.threads[0].code); !cursor.has_ended() && indices.size() < count_max;
       cursor.advance()) {
    indices.push_back(cursor.next());
  }
  return indices;
}

TEST_CASE("gpu script: things of one name are one thing of their rank and another of the next") {
  const std::vector<Operation> operations{{LaunchOp{.stream = "s", .name = "k"}},
                                          {RecordOp{.stream = "s", .event = "e"}},
                                          {WaitOp{.stream = "t", .event = "e"}}};
  const Result<Script> script = compile({.ranks = 2,
                                         .threads = {{.rank = 0, .operations = operations},
                                                     {.rank = 0, .operations = operations},
                                                     {.rank = 1, .operations = operations}}},
                                        1);
  REQUIRE(script.has_value());
  CHECK(script->streams.size() == 4);
  CHECK(script->events.size() == 2);
  CHECK(script->kernels.size() == 3);
  CHECK(script->threads[1].code[0].stream == script->threads[0].code[0].stream);
  CHECK(script->threads[2].code[0].stream != script->threads[0].code[0].stream);
  CHECK(script->threads[1].code[2].object == script->threads[0].code[1].object);
}

TEST_CASE("gpu script: sleeps and kernels are stretched, and a copy in us becomes bytes") {
  Program program = one_thread({{LaunchOp{.stream = "s", .us = 2.5}},
                                {SleepOp{.us = 4}},
                                {CopyOp{.stream = "s", .us = 3}},
                                {CopyOp{.stream = "s", .bytes = 77}}});
  program.copy_bandwidth_gb_per_s = 50;
  const Result<Script> script = compile(program, 10);
  REQUIRE(script.has_value());
  const std::vector<Instruction>& code = script->threads[0].code;
  CHECK(script->kernels[0].duration_ns == 25'000);
  CHECK(code[1].duration_ns == 40'000);
  CHECK(code[2].bytes == 150'000);
  CHECK(code[2].to == kNone);
  CHECK(code[3].bytes == 77);
}

TEST_CASE("gpu script: a repeat within a repeat is taken as often as both say") {
  const RepeatOp inner{.times = 2, .body = {{SetOp{.flag = "b"}}}};
  const Result<Script> script =
      compile(one_thread({{RepeatOp{.times = 2, .body = {{SetOp{.flag = "a"}}, {inner}}}},
                          {SetOp{.flag = "c"}}}),
              1);
  REQUIRE(script.has_value());
  CHECK(visited(*script, 20) == std::vector<std::size_t>{1, 3, 3, 1, 3, 3, 6});
}

TEST_CASE("gpu script: a repeat of no times is not there, and one without an end goes on") {
  const Result<Script> script =
      compile(one_thread({{RepeatOp{.times = 0, .body = {{SetOp{.flag = "a"}}}}},
                          {RepeatOp{.body = {{SetOp{.flag = "b"}}}}}}),
              1);
  REQUIRE(script.has_value());
  CHECK(visited(*script, 5) == std::vector<std::size_t>{1, 1, 1, 1, 1});
}

TEST_CASE("gpu script: a repeat whose body does nothing is refused, since it would never let go") {
  const RepeatOp nothing{.times = 0, .body = {{SetOp{.flag = "a"}}}};
  CHECK(problems_of(one_thread({{RepeatOp{.body = {{nothing}}}}})) ==
        "thread main of rank 0: a repeat must have something to do");
}

TEST_CASE("gpu script: all that is wrong is told at once") {
  const std::string problems =
      problems_of(one_thread({{LaunchOp{.stream = "", .registers = 64}},
                              {LaunchOp{.stream = "s", .kind = KernelKind::kRendezvous}},
                              {SyncOp{.stream = "s", .device = true}},
                              {SendOp{.to = 3}},
                              {CopyOp{.stream = "s"}}}));
  for (const std::string part :
       {"must name its stream", "registers: a GPU runs a kernel of ours in its place, of 32",
        "a group belongs to a rendezvous, and a rendezvous to a group",
        "a sync takes one of stream, event and device", "to must be 0 to 0, got 3",
        "a copy takes either us or bytes"}) {
    CAPTURE(problems);
    CHECK(problems.find(part) != std::string::npos);
  }
}

TEST_CASE("gpu script: those who meet under a name agree on who they are") {
  const auto at_barrier = [](std::vector<std::int32_t> ranks) -> std::vector<Operation> {
    return {{BarrierOp{.name = "b", .ranks = std::move(ranks)}}};
  };
  CHECK(problems_of({.ranks = 3,
                     .threads = {{.rank = 0, .name = "x", .operations = at_barrier({0, 1})},
                                 {.rank = 1, .name = "y", .operations = at_barrier({})}}}) ==
        "thread y of rank 1: b has other ranks here than where it stands first");
  CHECK(problems_of(
            {.ranks = 2, .threads = {{.rank = 0, .name = "x", .operations = at_barrier({1})}}}) ==
        "thread x of rank 0: b is without the rank of its own thread");
  CHECK(problems_of({.ranks = 65}) == "ranks: must be 1 to 64, got 65");
}

}  // namespace
}  // namespace eplb::gpu::program
