// Goal: a program is read as it was written, and each mistake is told at its place. Method: texts
// with one mistake each, and what check would print read again.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

/// A program of one thread on two ranks whose operations start at line 7.
std::string with_operations(std::string_view operations) {
  return "hardware: h200-hgx8\n"
         "program:\n"
         "  ranks: 2\n"
         "  threads:\n"
         "    - rank: 0\n"
         "      name: main\n"
         "      do:\n" +
         std::string(operations);
}

std::string problem_of(std::string_view operation) {
  return problems(with_operations("        - " + std::string(operation) + "\n"));
}

TEST_CASE("a program has its operations, its hardware's SMs and its seed") {
  const LoadResult result =
      load(with_operations("        - launch: {stream: s, kind: gang, ctas: 132, smem_kb: 200}\n"
                           "        - repeat:\n"
                           "            times: none\n"
                           "            do:\n"
                           "              - barrier: {name: b, ranks: [1, 0]}\n"),
           {"run.seed=9", "program.max_connections=2"});
  REQUIRE(problems(result) == "");
  REQUIRE(result->program.has_value());
  const sim::Program& program = *result->program;
  CHECK(result->scenario.run.seed == 9);
  CHECK(program.max_connections == 2);
  CHECK(program.processor.sm_count == 132);
  CHECK(program.copy_bandwidth_gb_per_s == 395);
  REQUIRE(program.threads.size() == 1);
  REQUIRE(program.threads[0].operations.size() == 2);
  CHECK(std::get<sim::LaunchOp>(program.threads[0].operations[0].what).ctas == 132);
  const auto& repeat = std::get<sim::RepeatOp>(program.threads[0].operations[1].what);
  CHECK(!repeat.times.has_value());
  CHECK(std::get<sim::BarrierOp>(repeat.body[0].what).ranks == std::vector<std::int32_t>{1, 0});

  const LoadResult again = load(result->canonical_yaml);
  REQUIRE(problems(again) == "");
  CHECK(again->canonical_yaml == result->canonical_yaml);
  CHECK(again->digest == result->digest);
}

TEST_CASE("each mistake in a program is told at its place") {
  CHECK(problem_of("lunch: {stream: s}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: unknown operation, did you mean launch?\n");
  CHECK(problem_of("launch: {ctas: 1}") ==
        "t.yaml:8:19: error: program.threads[0].do[0].launch.stream: is missing, must be text\n");
  CHECK(problem_of("sync: {stream: s, device: true}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: a sync takes one of stream, event and "
        "device: true\n");
  CHECK(problem_of("launch: {stream: s, kind: rendezvous}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: a rendezvous must name its group, whose "
        "ranks meet in it\n");
  CHECK(problem_of("launch: {stream: s, kind: gang, ctas: 133, smem_kb: 200}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: a gang of 133 CTAs never fits, 132 can be "
        "resident: its launch is an error in CUDA (too many blocks in a cooperative launch)\n");
  CHECK(problem_of("send: {to: 2}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: to must be a rank from 0 to 1, got 2\n");
  CHECK(problem_of("unlock: {mutex: m}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: unlocks m, which its thread has not locked "
        "before\n");
  CHECK(problem_of("copy: {stream: s}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: a copy takes either us or bytes\n");
  CHECK(problem_of("repeat: {times: 2, do: []}") ==
        "t.yaml:8:11: error: program.threads[0].do[0]: a repeat must have something to do\n");
  // Nobody sends it: that is a hang to be found, and no mistake of the file.
  CHECK(problem_of("recv: {from: 1}") == "");
}

TEST_CASE("launches of a group must name the same ranks") {
  CHECK(problems(with_operations(
            "        - launch: {stream: s, kind: rendezvous, group: g, ranks: [0, 1]}\n"
            "        - launch: {stream: s, kind: rendezvous, group: g, ranks: [0]}\n")) ==
        "t.yaml:9:11: error: program.threads[0].do[1]: group g has other ranks here than where it "
        "stands first\n");
}

TEST_CASE("a program takes no section of a serving run") {
  CHECK(problems(with_operations("        - sleep: {us: 1}\n") + "eplb: {}\n") ==
        "t.yaml:9:1: error: eplb: belongs to the kind serving run, not to program, which takes "
        "hardware, program, run\n");
}

}  // namespace
}  // namespace eplb::config::test
