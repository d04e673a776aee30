// Goal: `eplb check` prints a configuration as it is understood, which is one itself. Method: its
// output is fed back to it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_eplb.hpp"
#include "scenario_file.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("what check prints is a configuration that check understands alike") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome first = test::run_eplb({"check", file, "--set", "run.seed=7"});
  REQUIRE(first.code == 0);
  CHECK(first.out.find("seed: 7") != std::string::npos);
  CHECK(first.out.find("# 10 slots, 5 a rank; an expert is 0.20 MB") != std::string::npos);
  const std::string again = folder.write("again.yaml", first.out).string();
  CHECK(test::run_eplb({"check", again}).out == first.out);
}

TEST_CASE("check gives programs the configuration with its types") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"check", file, "--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json["schema"] == "eplb.check/1");
  CHECK(json["config"]["model"]["name"] == "tiny");
  CHECK(json["config"]["parallel"]["ranks"] == 2);
  CHECK(json["config"]["eplb"]["enabled"] == true);
  CHECK(json["config"]["workload"]["routing"]["exponent"] == 1);
  CHECK(json["notes"].empty());
}

TEST_CASE("check says that redundancy counts as none where EPLB is off") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"check", file, "--set", "eplb.enabled=false"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("warning: ") != std::string::npos);
}

TEST_CASE("check refuses redundancy that does not divide, and names the nearest that does") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome =
      test::run_eplb({"check", file, "--set", "eplb.num_redundant_experts=3"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("the nearest legal redundancy is 4") != std::string::npos);
}

}  // namespace
}  // namespace eplb
