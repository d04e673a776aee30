// Goal: core, placement and sim hold nothing that would make two runs of a seed differ, and nothing
// of ours asks which world it is in. Method: planted lines first, then every file of the tree.
#include "word_rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "source_tree.hpp"

namespace eplb::test {
namespace {

/// The first objection to a line, without its reason.
std::string said(const std::string& path, const std::string& line) {
  const std::vector<Finding> findings = word_findings(parse_source(path, line + "\n"));
  return findings.empty() ? ""
                          : findings.front().message.substr(0, findings.front().message.find(": "));
}

TEST_CASE("words: what differs from run to run is caught in core, placement and sim") {
  CHECK(said("core/src/a.cpp", "auto t = std::chrono::steady_clock::now();") ==
        "std::chrono::steady_clock::now");
  CHECK(said("sim/src/a.cpp", "using Clock = system_clock;") == "system_clock");
  CHECK(said("sim/src/a.cpp", "std::random_device device;") == "std::random_device");
  CHECK(said("sim/src/a.cpp", "std::uniform_int_distribution<int> draw(0, 3);") ==
        "std::uniform_int_distribution");
  CHECK(said("placement/src/a.cpp", "std::unordered_map<int, int> m;") == "std::unordered_map");
  CHECK(said("placement/src/a.cpp", "return std::hash<int>{}(x);") == "std::hash");
  CHECK(said("placement/src/a.cpp", "std::ranges::shuffle(v, g);") == "std::ranges::shuffle");
  CHECK(said("sim/src/a.cpp", "std::mt19937_64 engine;") == "std::mt19937_64");
  CHECK(said("core/src/a.cpp", "std::thread worker(run);") == "std::thread");
  CHECK(said("core/src/a.cpp", "const int r = rand() % 3;") == "rand");
  CHECK(said("core/src/a.cpp", "std::getenv(\"EPLB_SEED\")") == "std::getenv");
}

TEST_CASE("words: Boost.Random, other names and the tools' clock are not caught") {
  CHECK(said("sim/src/a.cpp", "boost::random::mt19937_64 engine(seed);").empty());
  CHECK(said("sim/src/a.cpp", "boost::random::uniform_int_distribution<int> d(0, 3);").empty());
  CHECK(said("sim/src/a.cpp", "const Ns start = sim_clock.now();").empty());
  CHECK(said("sim/src/a.cpp", "static_assert(sizeof(int) == 4);").empty());
  CHECK(said("sim/src/a.cpp", "EPLB_ASSERT(ready);").empty());
  CHECK(said("tools/cli/src/a.cpp", "auto t = std::chrono::steady_clock::now();").empty());
}

TEST_CASE("words: nothing of ours asks which world it is in, or asserts the C way") {
  CHECK(said("gpu/src/a.cpp", "if (environment.is_simulated()) {") == "is_simulated");
  CHECK(said("tools/cli/src/a.cpp", "#ifdef EPLB_SIMULATED") == "EPLB_SIMULATED");
  CHECK(said("tools/cli/src/a.cpp", "assert(count > 0);") == "assert");
  CHECK(said("sim/src/a.cpp", "for (int i : std::views::iota(0, 3)) {") == "std::views::iota");
}

TEST_CASE("words: the core and the policies do not throw, but may catch") {
  CHECK(said("core/src/a.cpp", "throw std::runtime_error(\"no\");") == "throw");
  CHECK(said("placement/src/a.cpp", "throw;") == "throw");
  CHECK(said("core/src/a.cpp", "try {").empty());
  CHECK(said("tools/config/src/a.cpp", "throw ConfigError(problems);").empty());
}

TEST_CASE("words: comments and literals may name what code may not") {
  CHECK(said("core/src/a.cpp", "// not std::hash: its values differ").empty());
  CHECK(said("core/src/a.cpp", "int a = 1;  /* rand */ int b = 2;").empty());
  CHECK(said("core/src/a.cpp", "fail(\"cannot throw\");").empty());
  CHECK(said("core/src/a.cpp", "auto text = R\"(throw \" rand)\"; auto c = rand();") == "rand");
  CHECK(said("core/src/a.cpp", "constexpr int kMillion = 1'000'000; int r = rand();") == "rand");
  CHECK(said("core/src/a.cpp", "const char quote = '\"'; int r = rand();  // \"") == "rand");
  CHECK(said("core/src/a.cpp", "const char* s = \"\\\"\"; int r = rand();") == "rand");
}

TEST_CASE("words: a comment over several lines leaves the line numbers alone") {
  CHECK(report(word_findings(
            parse_source("core/src/a.cpp", "/* rand\n   rand\n*/ int x;\nint y = rand();\n"))) ==
        "core/src/a.cpp:4: rand: chance comes from a seeded Boost.Random generator\n");
}

TEST_CASE("words: every file of the tree does without them") {
  std::string findings;
  for (const SourceFile& file : read_tree(EPLB_SOURCE_DIR)) {
    findings += report(word_findings(file));
  }
  CHECK(findings == "");
}

}  // namespace
}  // namespace eplb::test
